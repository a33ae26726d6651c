internal import CountersignEncoding

/// The JSON of JOSE headers: objects whose members are strings.
enum HeaderJSON {
  /// Headers have a few hundred bytes; with certificates, which nobody here sends, some thousands.
  private static let reader = JSONReader(maxBytes: 16 << 10)

  /// - Parameter text: what it heads, for errors.
  /// - Returns: the members that are strings, and the names of those that are not.
  static func members(of json: [UInt8], in text: String) throws(JOSEError) -> ([String: String], others: [String]) {
    // Nearly all headers are flat and plain: reading them so takes a tenth of the time.
    switch FlatJSON.read(json) {
    case .members(let members): return (members, [])
    case .repeatedName: throw JOSEError(.malformed, "the header of the \(text) has a member twice")
    case .somethingElse: break
    }
    // What two readers would take for two different headers is none, at any depth.
    guard !RepeatedNames.areIn(json) else {
      throw JOSEError(.malformed, "the header of the \(text) has a member twice")
    }
    do {
      let members = try reader.decode([String: Member].self, from: json)
      return (members.compactMapValues(\.string), members.filter { $0.value.string == nil }.map(\.key))
    } catch {
      throw JOSEError(.malformed, "the header of the \(text) is not a JSON object")
    }
  }

}

extension HeaderJSON {
  /// A value of any type, of which strings matter.
  private struct Member: Decodable {
    let string: String?

    init(from decoder: any Decoder) throws {
      // A value that is no string is allowed, and ignored: not an error.
      string = try? decoder.singleValueContainer().decode(String.self)
    }
  }
}
