import CountersignEncoding
import JobEngine

struct MailTemplate: Sendable {
  enum Kind: Sendable { case text, code, button, small }

  struct Block: Sendable {
    let kind: Kind
    let text: TemplateText
    /// Variable without which the block is left out.
    let condition: TemplateVariable?

    /// A button needs its link, whatever its label says.
    var variables: [TemplateVariable] { text.variables + (kind == .button ? [.link] : []) }
  }

  private let subject: TemplateText
  private let alternatives: [TemplateVariable]
  private let blocks: [Block]
  private let isRightToLeft: Bool

  init(
    _ file: MailTemplateFile.Template, _ known: TemplateVariables, isRightToLeft: Bool
  ) throws(TemplateFault) {
    self.isRightToLeft = isRightToLeft
    subject = try Self.parse(file.subject, known, "subject")
    alternatives = try (file.oneOf ?? []).map { (name) throws(TemplateFault) in
      try Self.variable(name, known, "oneOf")
    }
    var blocks: [Block] = []
    for (index, block) in file.blocks.enumerated() { blocks.append(try Self.parse(block, known, "blocks[\(index)]")) }
    guard !blocks.isEmpty else { throw TemplateFault("blocks: is empty") }
    self.blocks = blocks
  }

  private static func parse(
    _ block: MailTemplateFile.Block, _ known: TemplateVariables, _ place: String
  ) throws(TemplateFault) -> Block {
    let given: [(Kind, String?)] = [
      (.text, block.text), (.code, block.code), (.button, block.button), (.small, block.small),
    ]
    let found = given.compactMap { kind, source in source.map { (kind, $0) } }
    guard found.count == 1 else {
      throw TemplateFault("\(place): must have one of text, code, button and small")
    }
    let text = try parse(found[0].1, known, place)
    let condition = try block.if.map { (name) throws(TemplateFault) in try variable(name, known, "\(place).if") }
    return Block(kind: found[0].0, text: text, condition: condition)
  }

  private static func variable(
    _ name: String, _ known: TemplateVariables, _ place: String
  ) throws(TemplateFault) -> TemplateVariable {
    do {
      return try known.named(name)
    } catch {
      throw TemplateFault("\(place): \(error.message)")
    }
  }

  /// In Unicode scalars.
  static let maxLength = 1000

  private static func parse(
    _ source: String, _ known: TemplateVariables, _ place: String
  ) throws(TemplateFault) -> TemplateText {
    do {
      return try TemplateText(source, known, lengths: 1...maxLength)
    } catch {
      throw TemplateFault("\(place): \(error.message)")
    }
  }

  var variables: Set<TemplateVariable> { Set(subject.variables + blocks.flatMap(\.variables)) }

  /// The same with those that decide which blocks there are.
  var used: Set<TemplateVariable> { variables.union(alternatives + blocks.compactMap(\.condition)) }

  /// Codes that a mail with all its blocks shows.
  var codes: Int { (subject.variables + blocks.flatMap(\.text.variables)).count(where: { $0 == .code }) }

  /// All of them, if one of several is enough.
  func missing(_ values: [TemplateVariable: String]) -> [TemplateVariable] {
    if !alternatives.isEmpty, alternatives.allSatisfy({ values[$0] == nil }) { return alternatives }
    return (subject.variables + shown(values).flatMap(\.variables)).filter { values[$0] == nil }
  }

  func texts(_ values: [TemplateVariable: String]) -> [TemplateText] { [subject] + shown(values).map(\.text) }

  private func shown(_ values: [TemplateVariable: String]) -> [Block] {
    blocks.filter { block in block.condition.map { values[$0] != nil } ?? true }
  }

  func render(_ values: [TemplateVariable: String], _ layout: HTMLLayout, language: String) -> MailText {
    let shown = shown(values)
    let subject = subject.filled(with: values)
    return MailText(
      subject: subject, text: shown.map { plain($0, values) }.joined(separator: "\n\n") + "\n",
      html: layout.document(
        title: subject, language: language, isRightToLeft: isRightToLeft,
        content: shown.map { html($0, values) }.joined(separator: "\n")))
  }

  private func plain(_ block: Block, _ values: [TemplateVariable: String]) -> String {
    // First strong isolate: a name of the other direction does not move the words around it.
    let text = block.text.filled(with: values) { self.isRightToLeft ? "\u{2068}\($0)\u{2069}" : $0 }
    return switch block.kind {
    case .text, .small: text
    // A code that is copied from the mail must not contain marks.
    case .code: "    " + block.text.filled(with: values)
    case .button: "\(text):\n\(values[.link] ?? "")"
    }
  }

  private func html(_ block: Block, _ values: [TemplateVariable: String]) -> String {
    let text = block.text.filled(with: values) { "<bdi>\(HTML.escape($0))</bdi>" }
    return switch block.kind {
    case .text: HTMLLayout.paragraph(text)
    case .code: HTMLLayout.code(text)
    case .button: HTMLLayout.button(text, link: values[.link] ?? "")
    case .small: HTMLLayout.small(text)
    }
  }
}
