import JobEngine

/// Finds text that a phone or a reader takes for a link. Its only domain is that of the last line, which the worker
/// writes.
enum LinkLinter {
  static func problems(_ text: TemplateText) -> [String] {
    let signs = PhishingSigns(text.skeleton)
    var problems: [String] = []
    if signs.hasLink { problems.append("has a link") }
    if let domain = signs.domain {
      problems.append(
        "has '\(text.readable(domain))', which phones turn into a link: put a space after the full stop, or omit the domain"
      )
    }
    if signs.hasAt { problems.append("has an @, which begins the last line that phones read, or an address") }
    if signs.longestNumber >= PhishingSigns.fewestDigitsOfNumber { problems.append("has a number beside the code") }
    return problems
  }
}
