"""Pages of the gateway as people see and use them: at two widths, light and dark, by eye, by keyboard and by a reader of the screen."""

import base64
import itertools
import pathlib
import struct
import tempfile
import urllib.parse
import zlib

VIEWS = list(itertools.product([(360, 640), (1280, 800)], ["light", "dark"]))
# Of WCAG 2.2, level AA: texts, and the parts of a control that show it and its focus.
TEXT_CONTRAST, PART_CONTRAST = 4.5, 3
# Pixels that a finger hits.
TARGET_HEIGHT = 44
# Rows of pixels that differ: a page without a word has fewer.
DRAWN_ROWS = 20
SCREENSHOTS = pathlib.Path(tempfile.gettempdir()) / "countersign-page-views"
# The controls that are shown, and the contrast of colors as WCAG computes it.
LOOK = """
const isShown = (element) => element.checkVisibility({visibilityProperty: true, opacityProperty: true});
const channels = (color) => color.match(/[\\d.]+/g).map(Number);
const luminance = (color) => channels(color).slice(0, 3).map((value) => value / 255)
  .map((value) => value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4)
  .reduce((sum, value, index) => sum + value * [0.2126, 0.7152, 0.0722][index], 0);
const contrast = (one, other) => {
  const [dark, light] = [luminance(one), luminance(other)].sort((a, b) => a - b);
  return (light + 0.05) / (dark + 0.05);
};
const ground = (element) => {
  for (let at = element; at; at = at.parentElement) {
    const color = getComputedStyle(at).backgroundColor;
    if (channels(color)[3] === undefined) return color;
  }
  throw new Error("a page without a background");
};
const controls = [...document.querySelectorAll("a, button, input, select, textarea, [tabindex]")].filter(isShown);
"""
READ = LOOK + """
const root = document.documentElement, {direction} = getComputedStyle(root), texts = [];
for (const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT); walker.nextNode();) {
  const {data, parentElement: parent} = walker.currentNode;
  if (!data.trim() || !isShown(parent)) continue;
  const range = document.createRange();
  range.selectNodeContents(walker.currentNode);
  const {left, right} = range.getBoundingClientRect();
  // From the side where the language begins its lines. A control has its text in the middle.
  const start = parent.closest("a, button") ? null : Math.round(direction === "rtl" ? root.clientWidth - right : left);
  texts.push({start, text: data.trim(), contrast: contrast(getComputedStyle(parent).color, ground(parent)), left, right});
}
return {
  lang: root.lang, direction, title: document.title, texts,
  headings: [...document.querySelectorAll("h1")].filter(isShown).length, width: root.clientWidth, needed: root.scrollWidth,
  isDark: luminance(ground(document.body)) < 0.2,
  controls: controls.map((control) => ({
    tag: control.localName, height: control.getBoundingClientRect().height,
    contrast: Math.max(...[getComputedStyle(control).backgroundColor, getComputedStyle(control).borderTopColor]
      .map((color) => contrast(color, ground(control.parentElement)))),
  })),
};
"""
# The next Tab goes to the first control.
TO_THE_TOP = """
const first = document.createElement("span");
first.tabIndex = -1;
document.body.prepend(first);
first.focus();
first.remove();
"""
FOCUS = LOOK + """
const control = document.activeElement, {outlineStyle, outlineWidth, outlineColor} = getComputedStyle(control);
const isFramed = outlineStyle !== "none" && parseFloat(outlineWidth) >= 2;
return [controls.indexOf(control), isFramed ? contrast(outlineColor, ground(control.parentElement)) : 0];
"""


class Views:
    """The checks of one page, in every view."""

    def __init__(self, test, name, page):
        self.test, self.name, self.page = test, name, page

    def require(self, language="en"):
        for (width, height), scheme in VIEWS:
            with self.test.subTest(page=self.name, width=width, scheme=scheme):
                self.page.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
                self.page.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
                self.require_view(self.page.run(READ), scheme, language)
                self.require_names()
                self.require_keys()
                self.require_picture(f"{self.name}-{width}-{scheme}.png")
        return self

    def require_view(self, seen, scheme, language):
        self.test.assertEqual((seen["lang"], seen["direction"]), (language, "rtl" if language == "ar" else "ltr"))
        self.test.assertTrue(seen["title"])
        self.test.assertEqual((seen["headings"], seen["isDark"]), (1, scheme == "dark"))
        self.test.assertGreater(len(seen["texts"]), 1)
        self.test.assertLessEqual(seen["needed"], seen["width"])
        for text in seen["texts"]:
            self.test.assertGreaterEqual(text["contrast"], TEXT_CONTRAST, text)
            self.test.assertTrue(text["left"] >= 0 and text["right"] <= seen["width"], text)
        self.test.assertEqual(len({text["start"] for text in seen["texts"]} - {None}), 1, seen["texts"])
        for control in seen["controls"]:
            self.test.assertGreaterEqual(control["height"], TARGET_HEIGHT, control)
            self.test.assertGreaterEqual(control["contrast"], PART_CONTRAST, control)
        self.controls = len(seen["controls"])

    def focusable(self):
        """The controls as a reader of the screen has them."""
        return [node for node in self.page.call("Accessibility.getFullAXTree")["nodes"]
                if not node["ignored"] and node["role"]["value"] != "RootWebArea" and any(
                    part["name"] == "focusable" and part["value"]["value"] for part in node["properties"])]

    def require_names(self):
        names = [node["name"]["value"].strip() for node in self.focusable()]
        self.test.assertEqual(len(names), self.controls, names)
        self.test.assertTrue(all(names), names)

    def require_keys(self):
        self.page.run(TO_THE_TOP)
        for index in range(self.controls):
            self.page.press("Tab")
            reached, contrast = self.page.run(FOCUS)
            self.test.assertEqual(reached, index)
            self.test.assertGreaterEqual(contrast, PART_CONTRAST, f"the focus of control {index} is not seen")

    def require_picture(self, name):
        data = base64.b64decode(self.page.call("Page.captureScreenshot", format="png")["data"])
        SCREENSHOTS.mkdir(exist_ok=True)
        (SCREENSHOTS / name).write_bytes(data)
        self.test.assertGreaterEqual(len(set(rows(data))), DRAWN_ROWS)

    def require_own_requests(self, *others):
        """Nothing but a navigation leaves the page's origin, other than to the hosts that a test names."""
        origin = self.page.run("return location.origin;")
        sent = [urllib.parse.urlsplit(url) for session, kind, url in self.page.browser.requests
                if session == self.page.session and kind != "Document"]
        outside = {url.hostname for url in sent if f"{url.scheme}://{url.netloc}" != origin}
        self.test.assertEqual(outside, set(others))


def rows(png):
    """Rows of pixels of a screenshot, as PNG writes them."""
    data, at = b"", len(b"\x89PNG\r\n\x1a\n")
    while at < len(png):
        length, kind = struct.unpack(">I4s", png[at:at + 8])
        body = png[at + 8:at + 8 + length]
        if kind == b"IHDR":
            width, _, depth, color = struct.unpack(">IIBB", body[:10])
        elif kind == b"IDAT":
            data += body
        at += length + 12
    row = 1 + width * {2: 3, 6: 4}[color] * depth // 8
    data = zlib.decompress(data)
    return [data[start:start + row] for start in range(0, len(data), row)]
