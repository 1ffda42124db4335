"use strict";
// The little that the pages need besides htmx: back links, copying, charts, and pages inside pages.
(function () {
  const night = window.matchMedia("(prefers-color-scheme: dark)");

  function copy(button) {
    const text = document.getElementById(button.dataset.copy).textContent;
    navigator.clipboard.writeText(text).then(function () {
      const before = button.textContent;
      button.textContent = button.dataset.done;
      window.setTimeout(function () { button.textContent = before; }, 1500);
    });
  }

  document.addEventListener("click", function (event) {
    const back = event.target.closest("[data-back]");
    if (back && window.history.length > 1) { event.preventDefault(); window.history.back(); }
    const button = event.target.closest("[data-copy]");
    if (button) { copy(button); }
    const filling = event.target.closest("[data-fill]");
    if (filling) {
      const field = document.getElementById(filling.dataset.fill);
      field.value = filling.dataset.with;
      field.dispatchEvent(new Event("change", { bubbles: true }));
      field.focus();
    }
  });

  // A chart is an element with data-chart whose text is its specification; the library is loaded with the page.
  function look() {
    const ink = night.matches ? "#d7dbe0" : "#2b2f36", faint = night.matches ? "#3a4049" : "#dfe3e8";
    const axis = { labelColor: ink, titleColor: ink, gridColor: faint, tickColor: faint, domainColor: faint };
    return {
      background: "transparent", font: "system-ui, sans-serif", view: { stroke: faint }, axis: axis,
      legend: { labelColor: ink, titleColor: ink }, text: { color: ink, fill: ink }, title: { color: ink }
    };
  }
  function charts(root) {
    if (typeof vegaEmbed === "undefined") { return; }
    root.querySelectorAll("script[data-chart]").forEach(function (script) {
      const place = document.getElementById(script.dataset.chart);
      const tooltip = { disableDefaultStyle: true, theme: "app" };  // styles are in the style sheet: none may be added
      const options = { renderer: "svg", actions: false, ast: true, defaultStyle: false, tooltip: tooltip, config: look() };
      vegaEmbed(place, JSON.parse(script.textContent), options).then(function (drawn) {
        place.view = drawn.view;
        place.dataset.drawn = "1";
      });
    });
  }

  // The report stands in a frame that is as high as it is.
  const PAD = 8;  // pixels around it
  function frames(root) {
    root.querySelectorAll("iframe[data-grow]").forEach(function (frame) {
      function grow() {
        const page = frame.contentDocument;
        if (!page || !page.body) { return; }
        // What is in the page, and not the page itself, which is never lower than its frame.
        const height = Math.ceil(page.body.getBoundingClientRect().height + 2 * PAD);
        if (Math.abs(height - frame.clientHeight) > 1) { frame.height = height; }
      }
      function watch() {
        grow();
        new ResizeObserver(grow).observe(frame.contentDocument.body);
      }
      frame.addEventListener("load", watch);
      if (frame.contentDocument && frame.contentDocument.readyState === "complete") { watch(); }
    });
  }

  document.addEventListener("DOMContentLoaded", function () { charts(document); frames(document); });
  document.addEventListener("htmx:afterSettle", function (event) { charts(event.target); });
  night.addEventListener("change", function () { charts(document); });
})();

// Run: points of a picture that grows are put into it as they are, so that it does not flicker; a tenth at a time is told.
(function () {
  function grow() {
    const news = document.querySelector("script[data-rows]");
    if (!news) { return; }
    const name = news.dataset.rows, place = document.getElementById(name), rows = JSON.parse(news.textContent);
    const script = document.querySelector("script[data-chart=" + name + "]");
    if (!place || !script) { return; }
    const spec = JSON.parse(script.textContent);
    spec.datasets.points = rows;
    script.textContent = JSON.stringify(spec);  // as it is drawn again when the colours change
    if (place.view) { place.view.data("points", rows).runAsync(); }
  }
  function tell() {
    const part = document.querySelector("[data-told]"), place = document.getElementById("told");
    if (part && place && place.textContent !== part.dataset.told) { place.textContent = part.dataset.told; }
  }
  document.addEventListener("htmx:afterSettle", function () { grow(); tell(); });
})();
// End of Run.

// Open: a table of many columns shows those that contain what is typed. All are sent, whatever is shown.
(function () {
  function filter(field) {
    const wanted = field.value.trim().toLowerCase(), rows = document.querySelectorAll("#" + field.dataset.filter + " tbody tr");
    let shown = 0;
    rows.forEach(function (row) {
      const select = row.querySelector("select");
      const role = select ? select.options[select.selectedIndex].text : "";
      const cells = Array.from(row.cells).filter(function (cell) { return !cell.contains(select); });
      const text = cells.map(function (cell) { return cell.textContent; }).concat(role).join(" ").toLowerCase();
      row.hidden = wanted !== "" && !text.includes(wanted);
      shown += row.hidden ? 0 : 1;
    });
    const count = field.parentElement.querySelector("[data-filter-count]");
    count.textContent = wanted ? count.dataset.filterCount.replace("%s", shown).replace("%a", rows.length) : "";
  }
  document.addEventListener("DOMContentLoaded", function () {
    document.querySelectorAll("[data-filter-for]").forEach(function (part) { part.hidden = false; });
  });
  document.addEventListener("input", function (event) {
    if (event.target.matches("[data-filter]")) { filter(event.target); }
  });
  document.addEventListener("change", function (event) {  // before the form hears of it, to which it says nothing
    if (event.target.matches("[data-filter]")) { event.stopPropagation(); }
  }, true);
  document.addEventListener("keydown", function (event) {
    if (event.key === "Enter" && event.target.matches("[data-filter]")) { event.preventDefault(); }
  });
})();
// End of Open.
