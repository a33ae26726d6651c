import CountersignEncoding

enum HeaderJSON {
  /// Headers have a few hundred bytes. With certificates, which this system does not send, some thousands.
  private static let maxBytes = 16 << 10
  private static let reader = JSONReader(maxBytes: maxBytes)
  private static let payloads = JSONReader(maxBytes: JWS.maxPayloadBytes)

  /// The members of a header that are strings. Those of other types are left out, but a member that changes how the text
  /// is to be read is refused, whatever its type.
  static func strings(
    of json: [UInt8], in text: String, refusing unsupported: [String]
  ) throws(JOSEError) -> [String: String] {
    if let texts = PlainJSON(json, maxBytes: maxBytes)?.texts, unsupported.allSatisfy({ texts[$0] == nil }) {
      return texts
    }
    let members: [String: JSONValue]?
    do throws(JSONRefusal) {
      members = try reader.value(of: json).members
    } catch .repeatedName {
      // A header that two readers could read differently is refused, at any depth.
      throw JOSEError(.malformed, "the header of the \(text) has a member twice")
    } catch {
      members = nil
    }
    guard let members else { throw JOSEError(.malformed, "the header of the \(text) is not a JSON object") }
    for name in unsupported where members[name] != nil {
      throw JOSEError(.unsupportedAlgorithm, "the header of the \(text) has \"\(name)\", which is not supported")
    }
    return members.compactMapValues(\.text)
  }

  /// A payload need not be JSON.
  static func repeatsName(_ payload: [UInt8]) -> Bool {
    do throws(JSONRefusal) { _ = try payloads.value(of: payload) } catch {
      if case .repeatedName = error { return true }
    }
    return false
  }

  /// Writes a header: its members in the order of their names behind those that the format gives a meaning, which a
  /// caller cannot set.
  static func write(
    _ members: [String: String], reserved: Set<String>, into json: consuming JSONObjectWriter
  ) throws(JOSEError) -> [UInt8] {
    for name in members.keys.sorted() {
      guard !reserved.contains(name), let value = members[name] else {
        throw JOSEError(.malformed, "the header member \"\(JOSEError.printable(name))\" is reserved")
      }
      json.put(named: name, value)
    }
    return json.finished()
  }
}
