internal import CountersignEncoding

/// Asks the processes how they are.
struct ProcessCheck {
  let probe: any HTTPProbe

  /// - Parameters:
  ///   - name: the name of the process.
  ///   - url: where it serves its health, without a path.
  func finding(name: String, url: String) async -> Finding {
    let check = "process \(name)"
    do {
      let answer = try await probe.get("\(url)/readyz")
      if answer.status == 200 { return Finding(check, .ok, "ready, at \(url)") }
      return Finding(
        check, .failed, "at \(url) is not ready\(Self.reasons(answer.body))",
        mend: "mend what it names; it goes on by itself")
    } catch {
      return Finding(
        check, .failed, "does not answer at \(url): \(error.description)", mend: "start it; its log says why it ended")
    }
  }

  /// The checks that do not hold, as far as the answer says: each element with a `status` or `ok` that is not good.
  static func reasons(_ body: [UInt8]) -> String {
    // An answer that is not understood is told without reasons.
    guard let json = try? JSONReader.operations.decode(JSONValue.self, from: body) else { return "" }
    let texts = texts(json)
    return texts.isEmpty ? "" : ": \(texts.joined(separator: "; "))"
  }

  private static func texts(_ json: JSONValue) -> [String] {
    switch json {
    case .object(let object):
      let isBad = object["ok"] == .bool(false) || object["ready"] == .bool(false) || object["status"] == .text("failed")
      let nested = object.sorted { $0.key < $1.key }.flatMap { texts($0.value) }
      if !nested.isEmpty { return nested }
      guard isBad else { return [] }
      return [object.sorted { $0.key < $1.key }.compactMap { text($0.value) }.joined(separator: " ")]
    case .array(let array): return array.flatMap(texts)
    case .null, .bool, .integer, .number, .text: return []
    }
  }

  private static func text(_ value: JSONValue) -> String? {
    if case .text(let text) = value { text } else { nil }
  }
}
