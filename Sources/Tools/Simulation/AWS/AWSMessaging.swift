import CountersignCryptography
import CountersignEncoding
import CountersignTelemetry
import HTTPServer

/// AWS End User Messaging: `POST /`, with the operation in a header.
struct AWSMessaging: Sendable {
  static let target = "X-Amz-Target"
  private static let mediaType = "application/x-amz-json-1.0"
  private static let operations = "PinpointSMSVoiceV2."

  private let settings: AWSMessagingSettings
  private let signatures: AWSSignatureCheck
  private let inbox: ProviderInbox

  init(_ settings: AWSMessagingSettings, inbox: ProviderInbox) {
    self.settings = settings
    signatures = AWSSignatureCheck(settings: settings)
    self.inbox = inbox
  }

  func reply(_ request: HTTPServerRequest) async -> HTTPServerReply {
    do throws(AWSError) {
      let operation = try operation(request)
      try signatures.check(request, now: inbox.clock.now())
      guard operation == "SendTextMessage" else { return inbox.count(attributes, .aws) }
      let order = try AWSOrder.read(request.body)
      return await inbox.answer(.aws, to: order.recipient) {
        AWSError.status($0).response
      } process: {
        send(order)
      }
    } catch {
      return inbox.count(refuse(error), .aws)
    }
  }

  private func operation(_ request: HTTPServerRequest) throws(AWSError) -> String {
    let name = request.headers[Self.target] ?? ""
    let operation = String(name.dropFirst(Self.operations.count))
    guard request.method == "POST", request.target == "/", name.hasPrefix(Self.operations),
      request.headers["Content-Type"] == Self.mediaType,
      ["SendTextMessage", "DescribeAccountAttributes"].contains(operation)
    else { throw AWSError("UnknownOperationException", "The operation is not known.") }
    return operation
  }

  private func send(_ order: AWSOrder) -> HTTPServerResponse {
    do throws(AWSError) {
      try order.check(settings)
    } catch {
      return refuse(error)
    }
    let message = ReceivedMessage(
      to: order.recipient, from: order.sender, body: order.text, receivedAt: inbox.clock.now(), provider: .aws,
      id: Self.newID())
    if !order.isDryRun { _ = inbox.record(message) }
    return answer("{\"MessageId\":\"\(message.id)\"}")
  }

  private func refuse(_ error: AWSError) -> HTTPServerResponse {
    inbox.refuse("aws \(error.name)" + (error.reason.map { ".\($0)" } ?? ""))
    return error.response
  }

  private var attributes: HTTPServerResponse {
    answer("{\"AccountAttributes\":[{\"Name\":\"ACCOUNT_TIER\",\"Value\":\"PRODUCTION\"}]}")
  }

  private func answer(_ text: String) -> HTTPServerResponse {
    HTTPServerResponse(status: 200, contentType: Self.mediaType, text: text)
  }

  /// Random UUID (RFC 9562, version 4).
  private static func newID() -> String {
    var bytes = SecureRandom.bytes(16)
    bytes[6] = bytes[6] & 0x0F | 0x40
    bytes[8] = bytes[8] & 0x3F | 0x80
    return Hexadecimal.uuid(bytes)
  }
}
