import CountersignEncoding
import CountersignMessages
import FoundationEssentials
import TestSupport
import Testing

@testable import Gateway

/// Holds the calls of servers to `Config/openapi.json`, and the document to the calls.
@Suite struct OpenAPITests {
  private let document: JSONValue
  private let checker: SchemaChecker

  init() throws {
    document = try JSONValue(parsing: Data(contentsOf: URL(filePath: Repository.config + "/openapi.json")))
    checker = SchemaChecker(schemas: document["components"]?["schemas"]?.object ?? [:])
  }

  /// An operation of the document.
  private struct Operation {
    let method: String
    let path: String
    let content: JSONValue

    var name: String { content["operationId"]?.text ?? "" }
    var body: JSONValue? { content["requestBody"]?["content"]?["application/json"] }
    var answer: JSONValue? { content["responses"]?["200"]?["content"]?["application/json"] }
    var statuses: Set<String> { content["responses"]?.names ?? [] }
    var target: String { "/v1/projects/example" + path.replacing("{verificationID}", with: "v-1") }
  }

  private var operations: [Operation] {
    (document["paths"]?.object ?? [:]).flatMap { path, item in
      item.object.map { Operation(method: $0.key.uppercased(), path: path, content: $0.value) }
    }
  }

  private func operation(_ name: String) throws -> Operation {
    try #require(operations.first { $0.name == name })
  }

  private func resolved(_ value: JSONValue) -> JSONValue {
    guard let reference = value["$ref"]?.text else { return value }
    return reference.dropFirst(2).split(separator: "/").reduce(document) { $0[String($1)] ?? .null }
  }

  private static func example(_ content: JSONValue?) -> JSONValue? {
    content?["examples"]?.object.values.first?["value"]
  }

  // MARK: Paths

  @Test func `Operations are the routes, below both servers`() throws {
    let bases = try (document["servers"]?.array ?? []).map { server in
      "/" + (try #require(server["url"]?.text)).split(separator: "/").dropFirst(2).joined(separator: "/")
    }
    #expect(bases == ["/v1/projects/{project}", "/v1"])
    let described = operations.map { operation in
      let path = operation.path.replacing("verificationID", with: "verification")
      return "\(operation.name) \(operation.method) \(bases.map { $0 + path }.sorted())"
    }
    let routes = try CallFixture().calls.routes.filter { $0.errorForm == .problem }.map { route in
      "\(route.name) \(route.method?.rawValue ?? "") \(route.paths.sorted())"
    }
    #expect(described.sorted() == routes.sorted())
  }

  @Test func `Calls that change something take a key, and no others do`() throws {
    let keyed = operations.filter { operation in
      (operation.content["parameters"]?.array ?? []).contains { resolved($0)["name"] == "Idempotency-Key" }
    }
    #expect(Set(keyed.map(\.name)) == ["startVerification", "checkVerification", "cancelVerification"])
    for operation in operations {
      let first = operation.content["parameters"]?[0].map(resolved)?["name"]
      #expect((first == "verificationID") == operation.path.contains("{verificationID}"), "\(operation.name)")
    }
  }

  // MARK: Fields

  @Test func `Fields of requests are those of the code`() throws {
    let fields = ["StartVerification": VerificationFields.start, "CheckVerification": VerificationFields.check]
    for (name, expected) in fields.merging(["Client": VerificationFields.client], uniquingKeysWith: { $1 }) {
      let schema = try #require(checker.schemas[name])
      #expect(schema["properties"]?.names == expected && schema["additionalProperties"] == .bool(false), "\(name)")
    }
  }

  @Test func `Each field of a request is taken, and what is required is missed`() async throws {
    for name in ["startVerification", "checkVerification"] {
      let operation = try operation(name)
      let example = try #require(Self.example(operation.body)).object
      let schema = checker.resolved(try #require(operation.body?["schema"]))
      #expect(checker.problems(.object(example), schema) == [])
      let full = try sample(of: schema)
      #expect(try await status(operation, full) == 200)
      for field in full.names {
        let less = JSONValue.object(full.object.filter { $0.key != field })
        let isRequired = schema["required"]?.strings.contains(field) == true
        #expect(try await status(operation, less) == (isRequired ? 400 : 200), "\(name): \(field)")
        for wrong in [.integer(1), .null, .text("")] as [JSONValue] {
          #expect(try await status(operation, .object(full.object.merging([field: wrong]) { $1 })) == 400, "\(field)")
        }
      }
    }
  }

  /// An object with every field of a schema, by the examples.
  private func sample(of schema: JSONValue) throws -> JSONValue {
    var fields: [String: JSONValue] = [:]
    for (name, property) in schema["properties"]?.object ?? [:] {
      let property = checker.resolved(property)
      fields[name] =
        property["type"] == "object" ? try sample(of: property) : try #require(property["examples"]?[0], "\(name)")
    }
    return .object(fields)
  }

  private func status(_ operation: Operation, _ body: JSONValue) async throws -> Int {
    try await VerificationBench().send(operation.method, operation.target, body.json()).status
  }

  @Test func `Lengths of texts are those of the code`() async throws {
    for name in ["startVerification", "checkVerification"] {
      let operation = try operation(name)
      let schema = checker.resolved(try #require(operation.body?["schema"]))
      let full = try sample(of: schema)
      for (field, property) in schema["properties"]?.object ?? [:] where property["type"] == "string" {
        let limit = try #require(property["maxLength"]?.wholeNumber)
        for (length, expected) in [(limit, 200), (limit + 1, 400)] {
          let text = JSONValue.text(String(repeating: "x", count: length))
          #expect(try await status(operation, .object(full.object.merging([field: text]) { $1 })) == expected)
        }
      }
    }
  }

  // MARK: Answers

  @Test func `Answers have the fields of their schema, all of them`() async throws {
    for operation in operations {
      let body = operation.body.map { Self.example($0) ?? .null }
      let answer = try await VerificationBench().send(operation.method, operation.target, body?.json())
      let schema = try #require(operation.answer?["schema"])
      let value = try JSONValue(parsing: answer.text)
      #expect(checker.problems(value, schema) == [], "\(operation.name)")
      #expect(checker.properties(schema) == value.properties(), "\(operation.name)")
      #expect(checker.problems(try #require(Self.example(operation.answer)), schema) == [], "\(operation.name)")
    }
  }

  @Test func `Words of states are those of the contract`() {
    #expect(checker.schemas["VerificationState"]?["enum"]?.strings == VerificationStatus.State.known.map(\.rawValue))
  }

  // MARK: Problems

  /// Codes of the responses of an operation, by their status.
  private func codes(of operation: Operation) -> [Int: Set<String>] {
    var codes: [Int: Set<String>] = [:]
    for (status, response) in operation.content["responses"]?.object ?? [:] where status != "200" {
      let schema = resolved(response)["content"]?[ProblemDetails.contentType]?["schema"]
      let words = schema?["allOf"]?.array.compactMap { $0["properties"]?["code"]?["enum"]?.strings }.first
      codes[Int(status) ?? 0] = Set(words ?? [])
    }
    return codes
  }

  @Test func `Statuses of operations are those that they can have`() {
    // 429 is nginx's, too.
    let always: Set<String> = ["200", "400", "401", "403", "429", "500", "503"]
    let expected: [String: Set<String>] = [
      "startVerification": ["413", "422"], "checkVerification": ["404", "409", "413", "422"],
      "getVerification": ["404"], "cancelVerification": ["404", "409", "422"],
    ]
    for operation in operations {
      #expect(operation.statuses == always.union(expected[operation.name] ?? []), "\(operation.name)")
    }
  }

  @Test func `Codes have the statuses of the code`() throws {
    var documented: Set<String> = []
    for response in (document["components"]?["responses"]?.object ?? [:]).values {
      let content = try #require(response["content"]?[ProblemDetails.contentType])
      let example = try #require(Self.example(content))
      #expect(checker.problems(example, try #require(checker.schemas["Problem"])) == [])
      let status = try #require(example["status"]?.wholeNumber)
      #expect(example["title"]?.text == ProblemDetails.titles[status])
      for code in content["schema"]?["allOf"]?[1]?["properties"]?["code"]?["enum"]?.strings ?? [] {
        documented.insert("\(status) \(code)")
      }
    }
    var expected = Set(ProtocolError.verificationStatuses.map { "\($0.value) \($0.key.rawValue)" })
    expected.formUnion(["413 INVALID_ARGUMENT", "\(ProtocolError.reusedKeyStatus) INVALID_ARGUMENT"])
    expected.formUnion(["500 INTERNAL_ERROR", "503 INTERNAL_ERROR"])
    #expect(documented == expected)
    let words = Set(checker.schemas["Problem"]?["properties"]?["code"]?["enum"]?.strings ?? [])
    #expect(words == Set(expected.compactMap { $0.split(separator: " ").last.map(String.init) }))
    #expect(words.isSubset(of: APIErrorCode.known.map(\.rawValue)))
  }

  @Test(arguments: ["startVerification", "checkVerification", "getVerification", "cancelVerification"])
  func `Every refusal of an operation is described`(name: String) async throws {
    let operation = try operation(name)
    let codes = codes(of: operation)
    for error in Self.refusals(of: name) {
      let bench = try VerificationBench(refusing: error)
      let body = operation.body.flatMap(Self.example)?.json()
      let answer = try await bench.send(operation.method, operation.target, body)
      let code = try #require(answer["code"]?.text)
      #expect(codes[answer.status]?.contains(code) == true, "\(error.code): \(answer.status)")
      let problem = try JSONValue(parsing: answer.text)
      #expect(checker.problems(problem, try #require(checker.schemas["Problem"])) == [], "\(error.code)")
    }
  }

  /// Refusals that a command of the operation may meet, with every member that an error can have.
  private static func refusals(of name: String) -> [APIError] {
    var codes: [APIErrorCode] = [.invalidAccessToken, .insufficientPermission, .operationNotAllowed, .internalError]
    switch name {
    case "startVerification": codes += [.invalidPhoneNumber, .missingPhoneNumber, .quotaExceeded, .tooManyAttempts]
    case "checkVerification": codes += [.invalidSessionInfo, .invalidCode, .sessionExpired, .tooManyAttempts]
    case "cancelVerification": codes += [.invalidSessionInfo, .sessionExpired]
    default: codes += [.invalidSessionInfo]
    }
    let errors = codes.map { APIError($0, "d", field: "app", retryAfter: 1, reason: "R", attemptsLeft: 1) }
    return errors + [APIError(.invalidArgument, "d", field: "verificationID"), APIError(.internalError, "d")]
  }
}
