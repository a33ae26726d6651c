/// The delay that a reply names in its text: `try again in 300 seconds`, `retry after 5 minutes`.
enum ReplyDelay {
  /// A longer one is taken for this.
  static let longest = Duration.seconds(86_400)

  static func parse(_ text: String) -> Duration? {
    let words = text.lowercased().split { " \n\t(),;".contains($0) }
    for index in words.indices.dropFirst() where words[index - 1] == "in" || words[index - 1] == "after" {
      guard let number = Int(words[index].prefix { $0.isASCII && $0.isNumber }), number > 0 else { continue }
      let unit = words[index].drop { $0.isASCII && $0.isNumber }
      let word = unit.isEmpty && index + 1 < words.endIndex ? words[index + 1] : unit
      guard let seconds = seconds(word) else { continue }
      let (total, overflow) = number.multipliedReportingOverflow(by: seconds)
      return overflow ? longest : min(.seconds(total), longest)
    }
    return nil
  }

  private static func seconds(_ unit: Substring) -> Int? {
    switch unit.first {
    case "s": 1
    case "m": unit.hasPrefix("mi") || unit == "m" || unit == "m." ? 60 : nil
    case "h": 3600
    default: nil
    }
  }
}
