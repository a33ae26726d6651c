/// The form of a file `<language>.json` in the template directory.
struct TemplateFile: Decodable, Sendable {
  /// The language tag (BCP 47). Its file has the same name.
  let language: String
  /// Further tags that this language serves, such as `pt` for `pt-BR`.
  let aliases: [String]?
  /// By template name.
  let templates: [String: Forms]

  /// The wordings of one template, best first: the first that fits in one segment is sent.
  struct Forms: Decodable, Sendable {
    /// For a job without a domain.
    let plain: [String]
    /// For a job with a domain; the worker adds the last line `@domain #code` itself.
    let domainBound: [String]
  }
}
