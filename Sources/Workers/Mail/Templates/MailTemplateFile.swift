import JobEngine

/// The form of a file `<language>.json` in the template directory.
struct MailTemplateFile: TemplateFile {
  let language: String
  let aliases: [String]?
  /// `rtl` for scripts that are written from right to left.
  let direction: Direction?
  let templates: [String: Template]

  enum Direction: String, Decodable, Sendable { case ltr, rtl }

  struct Template: Decodable, Sendable {
    let subject: String
    /// Variables of which a job must have at least one.
    let oneOf: [String]?
    let blocks: [Block]
  }

  /// A part of a mail: exactly one of `text`, `code`, `button` and `small`.
  struct Block: Decodable, Sendable {
    let text: String?
    /// `{code}`, large.
    let code: String?
    /// Label of a button that leads to `{link}`. In plain text, the line before the address.
    let button: String?
    let small: String?
    let `if`: String?
  }
}
