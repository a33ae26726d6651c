/// The last line of a message, by which a phone finds the code and the app that it is for. There is one last line only: the job
/// chooses.
enum MessageTail: Sendable, Hashable {
  /// `@example.com #482913`, exactly, for iPhones and for browsers (draft-wells-origin-bound-one-time-codes, section 3).
  case domain(String, code: String)
  /// The hash of an Android app, for the SMS Retriever of its phone; older Play services look for `<#>` at the beginning, too.
  case androidHash(String)

  /// - Parameter values: Checked values. With a hash the domain has no effect: who sends one knows that the phone is an Android.
  init?(_ values: [TemplateVariable: String]) {
    if let hash = values[.androidHash] {
      self = .androidHash(hash)
    } else if let domain = values[.domain] {
      self = .domain(domain, code: values[.code] ?? "")
    } else {
      return nil
    }
  }

  /// The whole message.
  func around(_ text: String) -> String {
    switch self {
    case .domain(let domain, let code): "\(text)\n@\(domain) #\(code)"
    case .androidHash(let hash): "<#> \(text)\n\(hash)"
    }
  }
}
