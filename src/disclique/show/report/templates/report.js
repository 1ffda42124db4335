"use strict";
// Draws every chart of the page in the colours of its theme, and again when the theme changes.
(function () {
  const specs = JSON.parse(document.getElementById("specs").textContent);
  const words = document.body.dataset;
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
      renderer: "svg", actions: false, ast: true, config: look(), tooltip: { theme: night.matches ? "dark" : "light" }
    };
    if (words.numbers) options.formatLocale = JSON.parse(words.numbers);
    const waiting = Object.keys(specs).map(function (name) {
      return vegaEmbed("#chart-" + name, specs[name], options);
    });
    Promise.all(waiting).then(function () {
      document.querySelectorAll("details[data-fold]").forEach(function (part) {  // a chart is drawn in its width first
        part.open = false;
        part.removeAttribute("data-fold");
      });
      document.documentElement.dataset.drawn = String(waiting.length);
    }).catch(function (problem) {
      document.documentElement.dataset.problem = String(problem);
      console.error(problem);
    });
  }
  night.addEventListener("change", draw);
  draw();

  // A table that is wider than the page says so; its edges are shaded by the style sheet.
  function hint() {
    document.querySelectorAll(".wide").forEach(function (box) {
      const there = box.previousElementSibling && box.previousElementSibling.classList.contains("hint");
      const wide = box.scrollWidth > box.clientWidth + 1;
      if (wide && !there) {
        const line = document.createElement("p");
        line.className = "hint";
        line.textContent = words.wide;
        box.before(line);
      } else if (!wide && there && box.clientWidth) {
        box.previousElementSibling.remove();
      }
    });
  }
  window.addEventListener("resize", hint);
  document.addEventListener("toggle", function (event) {
    hint();
    if (event.target.open && event.target.querySelector(".chart")) window.dispatchEvent(new Event("resize"));
  }, true);
  hint();

  // What is folded is open on paper.
  const folded = [];
  window.addEventListener("beforeprint", function () {
    document.querySelectorAll("details:not([open])").forEach(function (part) { part.open = true; folded.push(part); });
  });
  window.addEventListener("afterprint", function () {
    folded.splice(0).forEach(function (part) { part.open = false; });
  });

  document.querySelectorAll("button[data-copy]").forEach(function (button) {
    button.hidden = false;
    button.addEventListener("click", function () {
      const text = document.getElementById(button.dataset.copy);
      const marked = document.createRange();
      marked.selectNodeContents(text);
      const chosen = window.getSelection();
      chosen.removeAllRanges();
      chosen.addRange(marked);
      const done = function () { button.textContent = button.dataset.copied; };
      if (navigator.clipboard && navigator.clipboard.writeText) {
        navigator.clipboard.writeText(text.textContent).then(done, function () { if (document.execCommand("copy")) done(); });
      } else if (document.execCommand("copy")) {
        done();
      }
    });
  });
})();
