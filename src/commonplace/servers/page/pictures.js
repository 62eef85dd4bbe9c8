// Pictures of the notes: asked for, with the page's own key, once they come near; shown from the memory of the browser.

import { bytesOf, get } from "./api.js";
import { el } from "./dom.js";
import { t, told } from "./words.js";

const MOST_PIXELS = 100e6; // of a picture that is unpacked
const SIZE = /^(?:(.*)\|)?\s*(\d{1,4})(?:x\d{1,4})?\s*$/s; // `|300` behind a picture's text is its width
const loads = new WeakMap();
const near = globalThis.IntersectionObserver && new IntersectionObserver((seen) => {
  for (const { target } of seen.filter((one) => one.isIntersecting)) {
    near.unobserve(target);
    loads.get(target)().catch((error) => (target.title = told(error, "message")));
  }
}, { rootMargin: "500px" });

/** What a note shows a picture as: its text and name, then the picture itself if it can be shown. */
export function picture(note, name, said = "") {
  const [, text = "", width] = SIZE.exec(said) ?? [null, said];
  const box = el("span", { class: "image" }, t("image", { name: [text, name.slice(-80)].filter(Boolean).join(" · ") }));
  loads.set(box, async () => {
    const { type, data } = await get("/api/picture", { note, name });
    const address = URL.createObjectURL(new Blob([bytesOf(data)], { type }));
    const shown = el("img", { alt: text || name, width, src: address });
    shown.onload = () => {
      URL.revokeObjectURL(address);
      if (shown.naturalWidth * shown.naturalHeight <= MOST_PIXELS) box.replaceWith(shown);
    };
    shown.onerror = () => URL.revokeObjectURL(address);
  });
  if (note) near?.observe(box);
  return box;
}
