import CountersignEncoding
import JobEngine

/// Styles are attributes of the elements, because many mail clients drop style sheets.
struct HTMLLayout: Sendable {
  private let source: String

  static let marks = ["{language}", "{direction}", "{title}", "{content}"]

  init(_ source: String) throws(TemplateFault) {
    for mark in Self.marks where !source.contains(mark) {
      throw TemplateFault("does not contain \(mark)")
    }
    self.source = source
  }

  init(directory: String) throws(WorkerError) {
    let path = "\(directory)/\(Self.fileName)"
    let source = String(decoding: try DataFile.read(path, maxBytes: TemplateFiles.maxBytes), as: UTF8.self)
    do {
      try self.init(source)
    } catch {
      throw WorkerError(.invalidTemplate, "\(path) \(error.message)")
    }
  }

  static let fileName = "layout.html"

  func document(title: String, language: String, isRightToLeft: Bool, content: String) -> String {
    let values = [
      "language": language, "direction": isRightToLeft ? "rtl" : "ltr", "title": HTML.escape(title),
      "content": content,
    ]
    var text = ""
    var rest = source[...]
    while let open = rest.firstIndex(of: "{") {
      text += rest[..<open]
      rest = rest[open...]
      // Braces of style rules are not marks.
      guard let close = rest.firstIndex(of: "}"), let value = values[String(rest[rest.index(after: open)..<close])]
      else {
        text += "{"
        rest = rest.dropFirst()
        continue
      }
      text += value
      rest = rest[rest.index(after: close)...]
    }
    return text + rest
  }

  static func paragraph(_ text: String) -> String { #"<p style="margin:0 0 16px">\#(text)</p>"# }

  static func small(_ text: String) -> String {
    #"<p style="margin:24px 0 0;font-size:13px;line-height:1.5;color:#6b7280">\#(text)</p>"#
  }

  static func code(_ text: String) -> String {
    #"<p style="margin:0 0 16px;font-size:30px;font-weight:600;letter-spacing:4px" dir="ltr">\#(text)</p>"#
  }

  static func button(_ label: String, link: String) -> String {
    let address = HTML.escape(link)
    return
      #"<p style="margin:0 0 16px"><a href="\#(address)" style="display:inline-block;padding:12px 24px;border-radius:8px;"#
      + #"background:#1f2937;color:#ffffff;text-decoration:none;font-weight:600">\#(label)</a></p>"#
      + "\n"
      + #"<p style="margin:0 0 16px;font-size:13px;line-height:1.5;color:#6b7280;word-break:break-all" dir="ltr">\#(address)</p>"#
  }
}
