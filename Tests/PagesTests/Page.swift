import FoundationEssentials
import TestSupport
import Testing

struct Page {
  let name: String
  let text: String
  /// Words of the page with one space between them, so that figures are found wherever lines break.
  private let flowing: String

  init(_ name: String) throws {
    self.name = name
    text = try String(contentsOf: URL(filePath: Repository.root).appending(path: name), encoding: .utf8)
    flowing = text.split { $0.isWhitespace }.joined(separator: " ")
  }

  /// Expects figures on the page, each with its unit: how the sentence around them goes is the page's own business.
  func expect(_ figures: String..., sourceLocation: SourceLocation = #_sourceLocation) {
    for figure in figures {
      #expect(flowing.contains(figure), "\(name) does not say: \(figure)", sourceLocation: sourceLocation)
    }
  }

  func table(_ head: String) throws -> [[String]] {
    let lines = text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
    let start = try #require(lines.firstIndex(of: head), "\(name) has no table \(head)")
    return lines[(start + 2)...].prefix { $0.hasPrefix("|") }.map { line in
      line.dropFirst().dropLast().split(separator: "|").map {
        String($0).trimming { $0.isWhitespace }
      }
    }
  }

  static func code(in text: String) -> [String] {
    text.matches(of: /`([^`]+)`/).map { String($0.1) }
  }
}

extension String {
  func trimming(_ isSpare: (Character) -> Bool) -> String {
    var rest = drop(while: isSpare)
    while let last = rest.last, isSpare(last) { rest.removeLast() }
    return String(rest)
  }
}

func grouped(_ number: some BinaryInteger) -> String {
  let digits = Array(String(number))
  return digits.indices.map { index in
    let rest = digits.count - index
    return (index > 0 && rest % 3 == 0 ? "," : "") + String(digits[index])
  }.joined()
}

func word(_ number: Int) -> String {
  let words = [
    "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve",
    "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen", "twenty",
  ]
  if words.indices.contains(number) { return words[number] }
  return number == 30 ? "thirty" : String(number)
}

func percent(_ part: Int, of whole: Int) -> String {
  let tenths = part * 1000 / whole
  return tenths % 10 == 0 ? "\(tenths / 10) %" : "\(tenths / 10).\(tenths % 10) %"
}

extension Duration {
  var seconds: Int { Int(components.seconds) }
  var minutes: Int { seconds / 60 }
  var hours: Int { minutes / 60 }
  var milliseconds: Int { seconds * 1000 + Int(components.attoseconds / 1_000_000_000_000_000) }
}
