struct MailTemplate: Sendable {
  enum Kind: Sendable { case text, code, button, small }

  struct Block: Sendable {
    let kind: Kind
    let text: MailTemplateText
    /// Variable without which the block is left out.
    let condition: MailVariable?

    /// A button needs its link, whatever its label says.
    var variables: [MailVariable] { text.variables + (kind == .button ? [.link] : []) }
  }

  private let subject: MailTemplateText
  private let alternatives: [MailVariable]
  private let blocks: [Block]
  private let isRightToLeft: Bool

  init(_ file: MailTemplateFile.Template, isRightToLeft: Bool) throws(MailTemplateText.Problem) {
    self.isRightToLeft = isRightToLeft
    subject = try Self.parse(file.subject, "subject")
    alternatives = try (file.oneOf ?? []).map { (name) throws(MailTemplateText.Problem) in
      try Self.variable(name, "oneOf")
    }
    var blocks: [Block] = []
    for (index, block) in file.blocks.enumerated() { blocks.append(try Self.parse(block, "blocks[\(index)]")) }
    guard !blocks.isEmpty else { throw MailTemplateText.Problem(message: "blocks: is empty") }
    self.blocks = blocks
  }

  private static func parse(_ block: MailTemplateFile.Block, _ place: String) throws(MailTemplateText.Problem) -> Block
  {
    let given: [(Kind, String?)] = [
      (.text, block.text), (.code, block.code), (.button, block.button), (.small, block.small),
    ]
    let found = given.compactMap { kind, source in source.map { (kind, $0) } }
    guard found.count == 1 else {
      throw MailTemplateText.Problem(message: "\(place): must have one of text, code, button and small")
    }
    let text = try parse(found[0].1, place)
    let condition = try block.if.map { (name) throws(MailTemplateText.Problem) in try variable(name, "\(place).if") }
    return Block(kind: found[0].0, text: text, condition: condition)
  }

  private static func variable(_ name: String, _ place: String) throws(MailTemplateText.Problem) -> MailVariable {
    guard let variable = MailVariable(rawValue: name) else {
      throw MailTemplateText.Problem(message: "\(place): '\(name)' is not a variable")
    }
    return variable
  }

  private static func parse(_ source: String, _ place: String) throws(MailTemplateText.Problem) -> MailTemplateText {
    do {
      return try MailTemplateText(source)
    } catch {
      throw MailTemplateText.Problem(message: "\(place): \(error.message)")
    }
  }

  /// All of them, if one of several is enough.
  func missing(_ values: [MailVariable: String]) -> [MailVariable] {
    if !alternatives.isEmpty, alternatives.allSatisfy({ values[$0] == nil }) { return alternatives }
    return (subject.variables + shown(values).flatMap(\.variables)).filter { values[$0] == nil }
  }

  private func shown(_ values: [MailVariable: String]) -> [Block] {
    blocks.filter { block in block.condition.map { values[$0] != nil } ?? true }
  }

  func render(_ values: [MailVariable: String], _ layout: HTMLLayout, language: String) -> MailText {
    let shown = shown(values)
    let subject = subject.filled(with: values)
    return MailText(
      subject: subject, text: shown.map { plain($0, values) }.joined(separator: "\n\n") + "\n",
      html: layout.document(
        title: subject, language: language, isRightToLeft: isRightToLeft,
        content: shown.map { html($0, values) }.joined(separator: "\n")))
  }

  private func plain(_ block: Block, _ values: [MailVariable: String]) -> String {
    // First strong isolate: a name of the other direction does not move the words around it.
    let text = block.text.filled(with: values) { self.isRightToLeft ? "\u{2068}\($0)\u{2069}" : $0 }
    return switch block.kind {
    case .text, .small: text
    // A code that is copied from the mail must not contain marks.
    case .code: "    " + block.text.filled(with: values)
    case .button: "\(text):\n\(values[.link] ?? "")"
    }
  }

  private func html(_ block: Block, _ values: [MailVariable: String]) -> String {
    let text = block.text.filled(with: values) { "<bdi>\(HTMLLayout.escaped($0))</bdi>" }
    return switch block.kind {
    case .text: HTMLLayout.paragraph(text)
    case .code: HTMLLayout.code(text)
    case .button: HTMLLayout.button(text, link: values[.link] ?? "")
    case .small: HTMLLayout.small(text)
    }
  }
}
