import CountersignEncoding
import SMS

struct SMSPreview {
  /// Each segment is billed.
  enum CostClass: String {
    case single
    /// Several, and no setting of a lane saves one.
    case several
    /// Several, at least one of which a setting of a lane would save.
    case avoidable
  }

  struct Alternative {
    let setting: String
    let text: SMSText
  }

  let text: SMSText
  let alternatives: [Alternative]

  init(_ text: SMSText, _ transliteration: Transliteration?) {
    let forms = [
      ("transliterate", text.shortened(TextOptions(transliteration: transliteration))),
      ("nationalShiftTables", text.shortened(TextOptions(nationalShiftTables: true))),
    ]
    self.text = text
    alternatives = forms.filter { $0.1.segments < text.segments }.map { Alternative(setting: $0.0, text: $0.1) }
  }

  var costClass: CostClass {
    if text.segments == 1 { return .single }
    return alternatives.isEmpty ? .several : .avoidable
  }

  private var limit: Int { text.segments == 1 ? text.encoding.singleLimit : text.partLimit }

  var lines: String {
    var lines = [
      "encoding  \(text.encoding.rawValue)",
      "segments  \(text.segments), \(text.units) units in all, \(limit) fit each",
      "cost      \(costClass.rawValue)",
    ]
    if text.encoding == .ucs2 { lines.append("ucs2 for  \(Self.list(text.charactersOutsideGSM7))") }
    lines += alternatives.map { "with      \($0.setting): \(Self.summary($0.text))" }
    let parts = text.parts()
    for (index, part) in parts.enumerated() {
      lines.append("")
      lines.append("\(index + 1)/\(parts.count)  \(SMSText.units(of: part, in: text)) units")
      lines.append(part)
    }
    return lines.joined(separator: "\n")
  }

  var json: JSONValue {
    let parts = text.parts().map { part in
      JSONValue.object(["text": .text(part), "units": .integer(Int64(SMSText.units(of: part, in: text)))])
    }
    return .object([
      "encoding": .text(text.encoding.rawValue), "segments": .integer(Int64(text.segments)),
      "units": .integer(Int64(text.units)), "unitsPerSegment": .integer(Int64(limit)),
      "costClass": .text(costClass.rawValue), "parts": .array(parts),
      "charactersOutsideGSM7": .array(text.charactersOutsideGSM7.map { .text(String($0)) }),
      "alternatives": .array(alternatives.map(Self.json)),
    ])
  }

  private static func json(_ alternative: Alternative) -> JSONValue {
    var object: [String: JSONValue] = [
      "setting": .text(alternative.setting), "encoding": .text(alternative.text.encoding.rawValue),
      "segments": .integer(Int64(alternative.text.segments)), "text": .text(alternative.text.text),
    ]
    object["nationalLanguage"] = alternative.text.shift?.language.map { .text("\($0)") }
    return .object(object)
  }

  private static func summary(_ text: SMSText) -> String {
    let language = text.shift?.language.map { ", \($0)" } ?? ""
    return "\(text.segments) segment\(text.segments == 1 ? "" : "s") of \(text.encoding.rawValue)\(language)"
  }

  private static let maxListed = 10

  /// `ç U+00E7, ã U+00E3`.
  private static func list(_ characters: [Character]) -> String {
    let listed = characters.prefix(maxListed).map { character in
      let codes = character.unicodeScalars.map { "U+" + Hexadecimal.text(UInt64($0.value), width: 4, uppercase: true) }
        .joined(separator: " ")
      return "\(character) \(codes)"
    }
    return listed.joined(separator: ", ") + (characters.count > maxListed ? ", …" : "")
  }
}

extension SMSText {
  fileprivate static func units(of part: String, in text: SMSText) -> Int {
    let octets = text.octets(of: part).count
    return text.encoding == .ucs2 ? octets / 2 : octets
  }
}
