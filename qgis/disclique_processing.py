"""disclique in QGIS: a layer of people in, an audit and a masked layer out.

One file for the Processing toolbox (Toolbox > Scripts > Add Script to Toolbox). It calls the program ``disclique``,
which is installed apart (``pip install "disclique[geo]"`` in an environment of its own): QGIS's own Python imports
nothing of it. The masked layer is written only if the audit shows that the limit is kept, unless the box that says
otherwise is ticked.
"""

from __future__ import annotations

import json
import os
import queue
import shlex
import shutil
import subprocess
import sys
import threading
from pathlib import Path

from qgis.core import (
    QgsCoordinateTransformContext,
    QgsProcessing,
    QgsProcessingAlgorithm,
    QgsProcessingException,
    QgsProcessingOutputHtml,
    QgsProcessingOutputString,
    QgsProcessingParameterBoolean,
    QgsProcessingParameterFeatureSource,
    QgsProcessingParameterField,
    QgsProcessingParameterFolderDestination,
    QgsProcessingParameterNumber,
    QgsProcessingParameterString,
    QgsProcessingParameterVectorDestination,
    QgsProcessingUtils,
    QgsVectorFileWriter,
    QgsWkbTypes,
)

KEPT, NOT_SHOWN, BROKEN = 0, 3, 4  # what `disclique audit` ends with when it has an answer
WORDS = {KEPT: "the limit is kept", NOT_SHOWN: "that the limit is kept is not shown", BROKEN: "the limit is broken"}
# What says which data are meant: it has to be the same for the audit and for the release, or something else would be
# released than was audited. tests/channels/test_qgis.py holds the list to the command line.
OF_THE_FILE = (
    "--id",
    "--label",
    "--number",
    "--near",
    "--reference",
    "--coordinates",
    "--text",
    "--encodings",
    "--metric",
    "--crs",
    "--unit",
    "--generalise",
    "--directed",
    "--no-directed",
    "--unpublished",
    "--no-unpublished",
    "--by-position",
    "--no-by-position",
    "--sheet",
    "--layer",
    "--codes",
    "--no-codes",
    "--distances",
    "--vectors",
    "--sensitive",
    "--plain",
    "--weight",
    "--leave-out",
    "--accept",
    "--mask",
    "--out",
)
OF_QGIS = ("PYTHONHOME", "PYTHONPATH", "LD_LIBRARY_PATH", "GDAL_DATA", "PROJ_LIB", "PROJ_DATA", "GDAL_DRIVER_PATH")


class Disclique(QgsProcessingAlgorithm):
    """Audit and mask a layer of points."""

    def createInstance(self) -> Disclique:
        """Return a fresh one, as QGIS asks for every run."""
        return Disclique()

    def name(self) -> str:
        """Return the name by which `qgis_process run script:disclique` finds it."""
        return "disclique"

    def displayName(self) -> str:
        """Return the name in the toolbox."""
        return "Audit and mask a layer of people (disclique)"

    def group(self) -> str:
        """Return the group in the toolbox."""
        return "Disclosure control"

    def groupId(self) -> str:
        """Return the group's own name."""
        return "disclosure"

    def shortHelpString(self) -> str:
        """Return the help beside the form."""
        return (
            "Asks who could be found again if this layer were released under a mask, and writes the masked layer if "
            "the share stays under the limit. Ids, true places and fields without a role are never released. The "
            "folder of the audit has the report, the annex for a board and the risk of every record: keep it to "
            "yourself, and the recipe beside the masked layer too.\n\nThe program disclique is installed apart: "
            'pip install "disclique[geo]".'
        )

    def initAlgorithm(self, configuration: dict[str, object] | None = None) -> None:
        """Name inputs and outputs."""
        several = {"allowMultiple": True, "optional": True, "parentLayerParameterName": "INPUT"}
        for parameter in (
            QgsProcessingParameterFeatureSource("INPUT", "Layer of people", [QgsProcessing.TypeVectorPoint]),
            QgsProcessingParameterField("ID", "Field that names the people", None, "INPUT", optional=True),
            QgsProcessingParameterField("LABELS", "Labels: released, and known to a snooper", **several),
            QgsProcessingParameterField("SENSITIVE", "Sensitive: released, not known", **several),
            QgsProcessingParameterField("PLAIN", "Plain: released as it is", **several),
            QgsProcessingParameterString("MASK", "Mask", "gaussian:sigma=5km"),
            QgsProcessingParameterNumber(
                "LIMIT",
                "Largest share of people who may be found",
                QgsProcessingParameterNumber.Double,
                0.09,
                False,
                0,
                1,
            ),
            QgsProcessingParameterString(
                "COLUMNS", "Further options of the file, such as --number age:none", "", optional=True
            ),
            QgsProcessingParameterString(
                "OPTIONS", "Further options of the audit, such as --overlap 0.5", "", optional=True
            ),
            QgsProcessingParameterBoolean("ANYWAY", "Write the layer even if the limit is not shown to be kept", False),
            QgsProcessingParameterString("PROGRAM", "The program", "disclique"),
            QgsProcessingParameterFolderDestination("AUDIT", "Folder of the audit"),
            QgsProcessingParameterVectorDestination(
                "OUTPUT", "Masked layer", QgsProcessing.TypeVectorPoint, optional=True, createByDefault=True
            ),
        ):
            self.addParameter(parameter)
        self.addOutput(QgsProcessingOutputHtml("REPORT", "Report"))
        self.addOutput(QgsProcessingOutputString("STATUS", "meets, open or fails"))

    def processAlgorithm(self, parameters, context, feedback):
        """Write the layer to a file, audit it, and mask it."""
        source = self.parameterAsSource(parameters, "INPUT", context)
        if source is None:
            raise QgsProcessingException(self.invalidSourceError(parameters, "INPUT"))
        if QgsWkbTypes.isMultiType(source.wkbType()):
            raise QgsProcessingException("the layer has several points a person: make single parts of it first")
        program = find(self.parameterAsString(parameters, "PROGRAM", context))
        folder = Path(self.parameterAsString(parameters, "AUDIT", context))
        out = self.parameterAsOutputLayer(parameters, "OUTPUT", context)
        mask = self.parameterAsString(parameters, "MASK", context)
        private = Path(QgsProcessingUtils.generateTempFilename("people"))
        private.mkdir(parents=True, mode=0o700, exist_ok=True)
        try:
            file = private / "people.gpkg"
            save(source, file, feedback)
            roles = [*self.roles(parameters, context), *self.words(parameters, "COLUMNS", context)]
            limit = f"{self.parameterAsDouble(parameters, 'LIMIT', context):.6g}"
            more = self.words(parameters, "OPTIONS", context)
            refuse_other_data(more)
            asked = [*roles, "--mask", mask, "--max-risk", limit, *more]
            ended = start([program, "audit", str(file), *asked, "--yes", "--out", str(folder)], feedback)
            if ended not in WORDS:
                raise QgsProcessingException(f"disclique audit ended with status {ended}: see what it said above")
            feedback.pushInfo(f"The audit says: {WORDS[ended]}.")
            verdict = verdict_of(folder)
            found = {"AUDIT": str(folder), "REPORT": str(folder / "report.html"), "STATUS": str(verdict["status"])}
            if not out:
                return found
            if ended != KEPT and not self.parameterAsBool(parameters, "ANYWAY", context):
                feedback.reportError(f"No masked layer was written: {WORDS[ended]}. Read the report.", False)
                context.setLayersToLoadOnCompletion({})
                return found
            chosen = str(verdict["setting"] or mask)  # of a range of masks the one that the verdict names
            written = [program, "mask", str(file), *roles, "--mask", chosen, "--as", "places", "--force", "--out", out]
            if start(written, feedback):
                raise QgsProcessingException("disclique mask wrote no layer: see what it said above")
            return {**found, "OUTPUT": out}
        finally:
            shutil.rmtree(private, ignore_errors=True)  # the people themselves do not stay behind

    def words(self, parameters, key: str, context) -> list[str]:
        """Return a line of options as its words."""
        return shlex.split(self.parameterAsString(parameters, key, context) or "")

    def roles(self, parameters, context) -> list[str]:
        """Return the options that say what each field is."""
        named = self.parameterAsString(parameters, "ID", context)
        options = ["--id", named] if named else []
        for key, option in (("LABELS", "--label"), ("SENSITIVE", "--sensitive"), ("PLAIN", "--plain")):
            for field in self.parameterAsFields(parameters, key, context):
                options += [option, field]
        return options


def find(program: str) -> str:
    """Return the path of the program, or say how to get it."""
    found = shutil.which(os.path.expanduser(program))
    if found is None:
        raise QgsProcessingException(
            f'there is no program {program!r}: install it (pip install "disclique[geo]"), or give its whole path'
        )
    return found


def save(source, file: Path, feedback) -> None:
    """Write the features that were chosen, in their own reference system."""
    options = QgsVectorFileWriter.SaveVectorOptions()
    options.driverName = "GPKG"
    options.layerName = "people"
    writer = QgsVectorFileWriter.create(
        str(file), source.fields(), source.wkbType(), source.sourceCrs(), QgsCoordinateTransformContext(), options
    )
    if writer.hasError() != QgsVectorFileWriter.NoError:
        raise QgsProcessingException(writer.errorMessage())
    for feature in source.getFeatures():
        if feedback.isCanceled():
            raise QgsProcessingException("cancelled")
        feature.setId(-1)  # ids of features count anew, so that none is written twice
        if not writer.addFeature(feature):
            raise QgsProcessingException(writer.errorMessage() or "a feature could not be written")
    del writer  # closes the file


def start(command: list[str], feedback) -> int:
    """Run a command, pass on what it says, and end it when the user cancels; return its exit status."""
    feedback.pushCommandInfo(shlex.join(command))
    environment = {key: value for key, value in os.environ.items() if key not in OF_QGIS}
    environment |= {"PYTHONUTF8": "1", "NO_COLOR": "1"}
    hidden = {"creationflags": subprocess.CREATE_NO_WINDOW} if sys.platform == "win32" else {}
    process = subprocess.Popen(
        command,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        errors="replace",
        **hidden,
    )
    said: queue.Queue[str] = queue.Queue()
    reader = threading.Thread(target=lambda: [said.put(line) for line in process.stdout], daemon=True)
    reader.start()
    while reader.is_alive() or not said.empty():
        if feedback.isCanceled():
            process.terminate()
            process.wait()
            raise QgsProcessingException("cancelled; what is finished is kept in the folder of the audit")
        try:
            feedback.pushInfo(said.get(timeout=0.2).rstrip())
        except queue.Empty:
            continue
    return process.wait()


def refuse_other_data(options: list[str]) -> None:
    """Refuse options by which the audit would look at other data than the release has."""
    strange = [word for word in options if word.split("=")[0] in OF_THE_FILE]
    if strange:
        raise QgsProcessingException(f"{', '.join(strange)}: options of the file go to the line for those")


def verdict_of(folder: Path) -> dict[str, object]:
    """Return the verdict of an audit: its status, and the setting that it names."""
    name = "recipients.json" if (folder / "recipients.json").exists() else "result.json"
    return json.loads((folder / name).read_text(encoding="utf-8"))["verdict"]
