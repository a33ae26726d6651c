import CountersignMessages
import CountersignTelemetry
import FoundationEssentials
import Testing

@testable import Push

@Suite struct PushTextTests {
  /// The rules of the app's SDK (AuthNotificationManager of the Apple SDK of Firebase Authentication): under its key it takes an object,
  /// or a text that is the JSON of one. Both receipt and secret have to be texts.
  private struct SDK {
    static func read(_ payload: [UInt8], key: String = PushPayload.defaultKey) throws -> (
      receipt: String, secret: String
    ) {
      let fields = try JSONDecoder().decode([String: Value].self, from: Data(payload))
      var value = try #require(fields[key])
      if case .text(let text) = value {
        value = .object(try JSONDecoder().decode([String: Value].self, from: Data(text.utf8)))
      }
      guard case .object(let proof) = value, case .text(let receipt)? = proof["receipt"],
        case .text(let secret)? = proof["secret"]
      else { throw CancellationError() }
      return (receipt, secret)
    }
  }

  private enum Value: Decodable {
    case text(String)
    case number(Int)
    case object([String: Value])

    init(from decoder: any Decoder) throws {
      let container = try decoder.singleValueContainer()
      if let text = try? container.decode(String.self) {
        self = .text(text)
      } else if let number = try? container.decode(Int.self) {
        self = .number(number)
      } else {
        self = .object(try container.decode([String: Value].self))
      }
    }
  }

  @Test(arguments: PushPayload.Form.allCases, ["r", "a\"b\\c\n/é🔐"])
  func `The apps SDK reads it`(form: PushPayload.Form, text: String) throws {
    let payload = PushPayload(key: PushPayload.defaultKey, form: form)
    let proof = try SDK.read(payload.json(receipt: text, secret: Secret(text + "s")))
    #expect(proof == (text, text + "s"))
  }

  @Test func `A push shows nothing to the user`() {
    let json = PushPayload(key: "own.key", form: .object).json(receipt: "r", secret: Secret("s"))
    #expect(
      String(decoding: json, as: UTF8.self)
        == #"{"aps":{"content-available":1},"own.key":{"receipt":"r","secret":"s"}}"#)
  }

  @Test(
    arguments: [
      ("00", "00"), ("ABCDEF0123456789", "abcdef0123456789"),
      (String(repeating: "fF", count: 200), String(repeating: "ff", count: 200)),
    ])
  func `Valid device tokens are accepted`(text: String, token: String) {
    #expect(APNsDeviceToken.normalized(text) == token)
  }

  @Test(
    arguments: ["", "0", "0g", "0a ", "../x", "０a", String(repeating: "00", count: 201)])
  func `Invalid device tokens are refused`(text: String) {
    #expect(APNsDeviceToken.normalized(text) == nil)
  }

  @Test func `A push has the same ID whenever it is tried`() throws {
    func id(_ jobID: String, of sender: String = "coordinator") -> String {
      PushID.make(for: MessageIdentity(sender: sender, messageID: jobID))
    }
    #expect(id("v1.push") == id("v1.push"))
    #expect(id("v1.push") != id("v2.push"))
    for jobID in ["v1.push", "123E4567-E89B-12D3-A456-426614174000"] {
      #expect(id(jobID).wholeMatch(of: /[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}/) != nil)
      // Another sender's job of the same ID is another push.
      #expect(id(jobID) != id(jobID, of: "sender"))
    }
  }

  @Test func `A push does not print`() {
    let push = Sample.push()
    #expect(!"\(push)\(String(reflecting: push))".contains(Sample.deviceToken))
  }
}
