// Sorts and filters tables, and saves what the page holds; without it everything stays readable.
// Rows of one tbody stay together when they are sorted.
(function () {
"use strict";
var SCALES = {"s": 1, "ms": 1e-3, "\u00b5s": 1e-6, "\u03bcs": 1e-6};
var MANY_ROWS = 8;
var PNG_SCALE = 2;

// A number at the beginning of a text, after "p = " or "n = ", with the scale of seconds.
function valueOf(cell) {
  var copy = cell.cloneNode(true);
  copy.querySelectorAll("sup").forEach(function (mark) { mark.remove(); });
  var text = copy.textContent.replace(/\u00a0/g, " ").trim();
  if (text === "" || text === "\u2013") { return {rank: 2, number: 0, text: ""}; }
  var plain = text.replace(/\u2212/g, "-").replace(/(\d),(?=\d{3})/g, "$1");
  var found = plain.match(/^(?:\w+ = )?([+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?)(?![\w-])/i);
  if (!found) { return {rank: 1, number: 0, text: text}; }
  var unit = plain.match(/(?:^|[\d ])(ms|\u00b5s|\u03bcs|s)$/);
  return {rank: 0, number: parseFloat(found[1]) * (unit ? SCALES[unit[1]] : 1), text: text};
}

function compare(first, second, direction) {
  if (first.rank !== second.rank) { return first.rank - second.rank; }
  if (first.rank === 0) { return direction * (first.number - second.number); }
  if (first.rank === 1) {
    return direction * first.text.localeCompare(second.text, "en", {numeric: true});
  }
  return 0;
}

function bodyRows(body) {
  return Array.prototype.filter.call(body.rows, function (row) {
    return !row.querySelector("th.block");
  });
}

// The head cells over one column each, by the number of the column; null where columns are unclear.
function columnHeads(table) {
  var heads = [], taken = [], rows = table.tHead.rows, r, c, i, k;
  for (r = 0; r < rows.length; r++) { taken.push([]); }
  for (r = 0; r < rows.length; r++) {
    c = 0;
    for (i = 0; i < rows[r].cells.length; i++) {
      var cell = rows[r].cells[i];
      while (taken[r][c]) { c++; }
      for (k = r; k < Math.min(r + cell.rowSpan, rows.length); k++) {
        for (var j = 0; j < cell.colSpan; j++) { taken[k][c + j] = true; }
      }
      if (cell.colSpan === 1 && r + cell.rowSpan >= rows.length) { heads[c] = cell; }
      c += cell.colSpan;
    }
  }
  var isClear = Array.prototype.every.call(table.tBodies, function (body) {
    return bodyRows(body).every(function (row) {
      return row.cells.length === heads.length &&
        Array.prototype.every.call(row.cells, function (cell) {
          return cell.colSpan === 1 && cell.rowSpan === 1;
        });
    });
  });
  return isClear ? heads : null;
}

function makeSortable(table) {
  var heads = columnHeads(table);
  if (!heads) { return; }
  var first = Array.prototype.map.call(table.tBodies, bodyRows);
  if (!first.some(function (rows) { return rows.length > 1; })) { return; }
  heads.forEach(function (head, column) {
    var button = document.createElement("button");
    button.type = "button";
    button.title = "Sort by this column";
    while (head.firstChild) { button.appendChild(head.firstChild); }
    head.appendChild(button);
    button.addEventListener("click", function () {
      var state = head.getAttribute("aria-sort");
      var next = state === "ascending" ? "descending" : state === "descending" ? "" : "ascending";
      heads.forEach(function (other) { other.removeAttribute("aria-sort"); });
      if (next) { head.setAttribute("aria-sort", next); }
      first.forEach(function (rows, number) {
        var ordered = rows.slice();
        if (next) {
          var direction = next === "ascending" ? 1 : -1;
          var values = new Map(rows.map(function (row) {
            return [row, valueOf(row.cells[column])];
          }));
          ordered.sort(function (a, b) {
            return compare(values.get(a), values.get(b), direction);
          });
        }
        ordered.forEach(function (row) { table.tBodies[number].appendChild(row); });
      });
    });
  });
}

function makeFilter(table, number) {
  var bodies = Array.prototype.slice.call(table.tBodies), all = [];
  bodies.forEach(function (body) { all = all.concat(bodyRows(body)); });
  if (all.length <= MANY_ROWS) { return; }
  var texts = all.map(function (row) {
    var block = row.parentNode.querySelector("th.block");
    return ((block ? block.textContent + " " : "") +
      Array.prototype.map.call(row.cells, function (cell) { return cell.textContent; }).join(" "))
      .replace(/\u00a0/g, " ").toLowerCase();
  });
  var line = document.createElement("p");
  line.className = "filter";
  var label = document.createElement("label");
  label.htmlFor = "filter-" + number;
  label.textContent = "Show rows with ";
  var field = document.createElement("input");
  field.type = "search";
  field.id = "filter-" + number;
  var count = document.createElement("span");
  count.setAttribute("role", "status");
  count.setAttribute("aria-live", "polite");
  line.append(label, field, " ", count);
  var anchor = table.closest(".wide") || table;
  anchor.parentNode.insertBefore(line, anchor);
  field.addEventListener("input", function () {
    var words = field.value.toLowerCase().split(/\s+/).filter(Boolean), shown = 0;
    all.forEach(function (row, index) {
      row.hidden = !words.every(function (word) { return texts[index].indexOf(word) >= 0; });
      shown += row.hidden ? 0 : 1;
    });
    bodies.forEach(function (body) {
      body.hidden = bodyRows(body).every(function (row) { return row.hidden; });
    });
    count.textContent = words.length ? shown + " of " + all.length + " rows" : "";
  });
}

// The shown text of a table as CSV; a heading of a block is a row with one cell.
function csvOf(table) {
  return Array.prototype.map.call(table.rows, function (row) {
    var cells = [];
    Array.prototype.forEach.call(row.cells, function (cell) {
      var text = cell.textContent.replace(/\u00a0/g, " ").trim();
      // As in the files of results: a spreadsheet runs what begins like a formula.
      if (/^'*[=+\-@]/.test(text) && isNaN(text)) { text = "'" + text; }
      cells.push(/[",\n]/.test(text) ? '"' + text.replace(/"/g, '""') + '"' : text);
      for (var more = 1; more < cell.colSpan; more++) { cells.push(""); }
    });
    return cells.join(",") + "\n";
  }).join("");
}

// Tables that are in no file of the run are saved as they are shown.
function makeSavable(table, number) {
  if (table.closest("article.table")) { return; }
  var part = table.closest("section");
  var line = document.createElement("p");
  line.className = "downloads";
  line.textContent = "Save this table: ";
  var link = document.createElement("a");
  link.textContent = "CSV";
  link.setAttribute("aria-label", "CSV of this table");
  link.download = (part ? part.id : "table") + "-" + number + ".csv";
  link.href = "data:text/csv;charset=utf-8," + encodeURIComponent(csvOf(table));
  line.appendChild(link);
  var anchor = table.closest(".wide") || table, notes = anchor.nextElementSibling;
  if (notes && notes.classList.contains("notes")) { anchor = notes; }
  anchor.parentNode.insertBefore(line, anchor.nextSibling);
}

// On a narrow page the head of its column is before each sentence, and numbers break before a sign.
function prepareCells(table) {
  (columnHeads(table) || []).forEach(function (head, column) {
    table.querySelectorAll("tbody > tr > td:nth-child(" + (column + 1) + ")").forEach(
      function (cell) {
        cell.dataset.head = head.textContent;
        cell.innerHTML = cell.innerHTML.replace(/ (?=[\u00b1(])(?![^<]*>)/g, " <wbr>");
      });
  });
}

document.querySelectorAll("main table").forEach(function (table, number) {
  if (!table.tHead || !table.tHead.rows.length) { return; }
  prepareCells(table);
  makeSavable(table, number);
  makeSortable(table);
  makeFilter(table, number);
});

// What is wider than the page can also be scrolled by the keyboard.
function makeScrollable() {
  document.querySelectorAll("main .wide").forEach(function (box) {
    var caption = box.querySelector("caption");
    if (box.scrollWidth > box.clientWidth && caption) {
      box.tabIndex = 0;
      box.setAttribute("role", "region");
      box.setAttribute("aria-label", caption.textContent);
    }
  });
}

makeScrollable();
// A folded part has no width before it is opened.
document.querySelector("main").addEventListener("toggle", makeScrollable, true);

// A link into a folded part opens it, and one to an experiment opens the experiment.
function openTarget() {
  var target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  if (!target) { return; }
  var block = target.matches("section.experiment") ? target.querySelector("details") : target;
  for (; block; block = block.parentElement && block.parentElement.closest("details")) {
    if (block.matches("details")) { block.open = true; }
  }
  target.scrollIntoView();
}

openTarget();
window.addEventListener("hashchange", openTarget);

// Pictures and files are compressed in the page. Each is unpacked when the one before it is, pictures
// first: the page can be read at once, and all pictures are there when it is printed.
async function unpack() {
  var pictures = Array.from(document.querySelectorAll("img[data-packed]"));
  for (var element of pictures.concat(Array.from(document.querySelectorAll("a[data-packed]")))) {
    var bytes = Uint8Array.from(atob(element.dataset.packed), function (letter) {
      return letter.charCodeAt(0);
    });
    var stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
    var content = await new Response(stream).arrayBuffer();
    // A link has the type of its file.
    var found = await address(new Blob([content], {type: element.type || "image/svg+xml"}));
    element.removeAttribute("data-packed");
    if (element.matches("a")) { element.href = found; continue; }
    element.src = found;
    offer(element);
  }
}

function address(blob) {
  return new Promise(function (resolve) {
    var reader = new FileReader();
    reader.addEventListener("load", function () { resolve(reader.result); });
    reader.readAsDataURL(blob);
  });
}

// What is saved of a figure is made of the picture that is shown: the page holds it once.
function offer(picture) {
  var figure = picture.closest("figure");
  var svg = figure.querySelector("a.svg"), png = figure.querySelector("a.png");
  if (svg) { svg.href = picture.src; }
  if (!png) { return; }
  png.href = "#";
  png.addEventListener("click", function () {
    var canvas = document.createElement("canvas");
    canvas.width = PNG_SCALE * picture.naturalWidth;
    canvas.height = PNG_SCALE * picture.naturalHeight;
    canvas.getContext("2d").drawImage(picture, 0, 0, canvas.width, canvas.height);
    png.href = canvas.toDataURL("image/png");
  });
}

document.querySelectorAll("figure img[src]").forEach(offer);
unpack();

// A click on a picture shows it as large as the window; Escape, or another click, closes it.
var pictures = document.querySelectorAll("a.enlarge");
if (pictures.length && window.HTMLDialogElement) {
  var dialog = document.createElement("dialog");
  var large = document.createElement("img");
  var close = document.createElement("button");
  close.type = "button";
  close.textContent = "Close";
  dialog.append(close, large);
  document.body.append(dialog);
  dialog.addEventListener("click", function () { dialog.close(); });
  pictures.forEach(function (link) {
    link.title = "Enlarge";
    link.href = "#";
    link.addEventListener("click", function (event) {
      var picture = link.querySelector("img");
      event.preventDefault();
      large.src = picture.src;
      large.alt = picture.alt;
      large.className = picture.className;
      dialog.setAttribute("aria-label", picture.alt);
      dialog.showModal();
    });
  });
}

// The navigation marks the section that is read.
var links = {};
document.querySelectorAll("nav a").forEach(function (link) {
  links[link.getAttribute("href").slice(1)] = link;
});
if ("IntersectionObserver" in window) {
  var observer = new IntersectionObserver(function (entries) {
    entries.forEach(function (entry) {
      var link = links[entry.target.id];
      if (!link || !entry.isIntersecting) { return; }
      Object.keys(links).forEach(function (id) { links[id].removeAttribute("aria-current"); });
      link.setAttribute("aria-current", "true");
    });
  }, {rootMargin: "-10% 0px -80% 0px"});
  document.querySelectorAll("main section").forEach(function (section) {
    observer.observe(section);
  });
}

// In print nothing is folded except the long records.
window.addEventListener("beforeprint", function () {
  document.querySelectorAll("details").forEach(function (block) {
    if (!block.open && block.querySelector("table, figure")) {
      block.open = true;
      block.dataset.opened = "yes";
    }
  });
});
window.addEventListener("afterprint", function () {
  document.querySelectorAll("details[data-opened]").forEach(function (block) {
    block.open = false;
    delete block.dataset.opened;
  });
});
}());
