import CountersignEncoding
import HTTPServer

/// Its sender gets the text.
struct ControlProblem: Error {
  let status: Int
  let text: String

  init(status: Int = 400, _ text: String) {
    self.status = status
    self.text = text
  }

  var response: HTTPServerResponse { .json(status: status, "{\"error\":\(JSONString.quote(text))}") }
}

/// A JSON object whose fields are all known.
protocol ControlOrder: Decodable {
  static var fields: Set<String> { get }

  func check() throws(ControlProblem)
}

extension ControlOrder {
  static func read(_ body: [UInt8]) throws(ControlProblem) -> Self {
    guard let given = try? JSONReader.requests.value(of: body).members?.keys else {
      throw ControlProblem("the body must be a JSON object; GET /control says more")
    }
    if let unknown = given.first(where: { !fields.contains($0) }) {
      throw ControlProblem("unknown field \(unknown); there are \(fields.sorted().joined(separator: ", "))")
    }
    let order: Self
    do { order = try JSONReader.requests.decode(Self.self, from: body) } catch {
      throw ControlProblem("\(Self.place(error)) is missing or of the wrong type; GET /control says more")
    }
    try order.check()
    return order
  }

  private static func place(_ error: any Error) -> String {
    switch error as? DecodingError {
    case .keyNotFound(let key, _): key.stringValue
    case .typeMismatch(_, let context), .valueNotFound(_, let context), .dataCorrupted(let context):
      context.codingPath.first?.stringValue ?? "the body"
    default: "the body"
    }
  }

  static func require<Value: Comparable>(
    _ value: Value?, in range: ClosedRange<Value>, _ name: String
  ) throws(ControlProblem) {
    guard let value, !range.contains(value) else { return }
    throw ControlProblem("\(name) must be from \(range.lowerBound) to \(range.upperBound)")
  }

  static func require(_ value: String?, among names: Set<String>, _ name: String) throws(ControlProblem) {
    guard let value, !names.contains(value) else { return }
    throw ControlProblem("\(name) must be one of \(names.sorted().joined(separator: ", "))")
  }
}
