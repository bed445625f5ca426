// The drawn graph as a picture in a file: SVG, or PNG of at most 100 megapixels.

const EXPORTED = ["fill", "fill-opacity", "stroke", "stroke-width", "stroke-dasharray", "opacity", "font-family", "font-size", "font-weight", "text-anchor", "dominant-baseline"];
const MARGIN = 20, MAX_SIDE = 16000, MAX_PIXELS = 1e8;

// Returns the whole drawing as SVG that needs no style sheet.
function pictureAsSvg() {
  const copy = graph.cloneNode(true), { width, height } = state.drawn, copies = copy.querySelectorAll("*");
  graph.querySelectorAll("*").forEach((element, index) => {
    const style = getComputedStyle(element);
    for (const property of EXPORTED) copies[index].setAttribute(property, style.getPropertyValue(property));
    if (element.classList.contains("edge")) copies[index].setAttribute("marker-end", "url(#arrow)");
  });
  const colors = getComputedStyle(document.documentElement), [w, h] = [width + 2 * MARGIN, height + 2 * MARGIN];
  copy.querySelector("#arrow path").setAttribute("fill", colors.getPropertyValue("--faint"));
  copy.querySelector("#moved").removeAttribute("transform");
  copy.prepend(shape("rect", { x: -MARGIN, y: -MARGIN, width: w, height: h, fill: colors.getPropertyValue("--paper") }));
  for (const [key, value] of Object.entries({ xmlns: "http://www.w3.org/2000/svg", width: w, height: h, viewBox: `${-MARGIN} ${-MARGIN} ${w} ${h}` })) copy.setAttribute(key, value);
  return new XMLSerializer().serializeToString(copy);
}

async function pictureAsPng() {
  const url = URL.createObjectURL(new Blob([pictureAsSvg()], { type: "image/svg+xml" })), image = new Image();
  try {
    image.src = url;
    await image.decode();
  } finally {
    URL.revokeObjectURL(url);
  }
  const { width, height } = image, scale = Math.min(2, MAX_SIDE / Math.max(width, height), Math.sqrt(MAX_PIXELS / (width * height)));
  const canvas = make("canvas", { width: Math.ceil(width * scale), height: Math.ceil(height * scale) });
  canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
  return new Promise((resolve) => { canvas.toBlob(resolve, "image/png"); });
}

function save(blob, extension) {
  const url = URL.createObjectURL(blob);
  make("a", { href: url, download: `views.${extension}` }).click();
  setTimeout(() => URL.revokeObjectURL(url), 60000);
}
