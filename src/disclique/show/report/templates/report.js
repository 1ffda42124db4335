"use strict";
// Draws every chart of the page in the colours of its theme, and again when the theme changes.
(function () {
  const specs = JSON.parse(document.getElementById("specs").textContent);
  const night = window.matchMedia("(prefers-color-scheme: dark)");
  function look() {
    const ink = night.matches ? "#d7dbe0" : "#2b2f36";
    const faint = night.matches ? "#3a4049" : "#dfe3e8";
    const narrow = window.innerWidth < 640;
    return {
      background: "transparent",
      font: "system-ui, sans-serif",
      view: { stroke: faint },
      axis: {
        labelColor: ink, titleColor: ink, gridColor: faint, tickColor: faint, domainColor: faint,
        labelFontSize: 12, titleFontSize: 12, titleFontWeight: "normal"
      },
      axisY: { labelLimit: narrow ? 150 : 260 },
      legend: { labelColor: ink, titleColor: ink, labelFontSize: 12, columns: narrow ? 2 : 5 },
      text: { color: ink, fill: ink },
      title: { color: ink }
    };
  }
  function draw() {
    const options = {
      renderer: "svg", actions: false, config: look(), tooltip: { theme: night.matches ? "dark" : "light" }
    };
    const waiting = Object.keys(specs).map(function (name) {
      return vegaEmbed("#chart-" + name, specs[name], options);
    });
    Promise.all(waiting).then(function () {
      document.documentElement.dataset.drawn = String(waiting.length);
    }).catch(function (problem) {
      document.documentElement.dataset.problem = String(problem);
      console.error(problem);
    });
  }
  night.addEventListener("change", draw);
  draw();
})();
