import CountersignCryptography
import CountersignEncoding
import CountersignTelemetry
import HTTPServer

/// MessageBird's REST API: `POST /messages` (https://developers.messagebird.com/api/sms-messaging).
struct MessageBirdMessages: Sendable {
  let settings: SimulatedMessageBirdSettings
  let inbox: ProviderInbox
  let receipts: ReceiptReporter
  let callbacks: CallbackURL

  func reply(_ request: HTTPServerRequest) async -> HTTPServerReply {
    do throws(MessageBirdError) {
      let order = try order(request)
      return await inbox.answer(.messageBird, to: order.recipient) {
        MessageBirdError.status($0).response
      } process: {
        create(order)
      }
    } catch {
      return inbox.count(refuse(error), .messageBird)
    }
  }

  /// `GET /balance` (https://developers.messagebird.com/api/balance).
  func balance(_ request: HTTPServerRequest) -> HTTPServerReply {
    inbox.count(
      isKnown(request)
        ? .json(status: 200, "{\"payment\":\"prepaid\",\"type\":\"credits\",\"amount\":9.2}")
        : MessageBirdError.status(401).response, .messageBird)
  }

  private func isKnown(_ request: HTTPServerRequest) -> Bool {
    let given = Array((request.headers["Authorization"] ?? "").utf8)
    return constantTimeEquals(given, Array("AccessKey \(settings.accessKey.reveal())".utf8))
  }

  private func order(_ request: HTTPServerRequest) throws(MessageBirdError) -> MessageBirdOrder {
    guard isKnown(request) else { throw .status(401) }
    guard request.method == "POST" else { throw .status(405) }
    guard request.mediaType == "application/json", let order = MessageBirdOrder(request.body) else {
      throw .status(400)
    }
    return order
  }

  private func create(_ order: MessageBirdOrder) -> HTTPServerResponse {
    do throws(MessageBirdError) {
      try order.check(callbacks)
    } catch {
      return refuse(error)
    }
    let message = ReceivedMessage(
      to: order.recipient, from: order.originator, body: order.arrivingBody, receivedAt: inbox.clock.now(),
      provider: .messageBird, id: Hexadecimal.encode(SecureRandom.bytes(16)))
    _ = inbox.record(message)
    if let url = order.reportUrl, let reference = order.reference {
      receipts.report(
        message, by: MessageBirdReceiptWriter(url: url, reference: reference, signingKey: settings.signingKey))
    }
    return .json(status: 201, Self.resource(message, order))
  }

  private func refuse(_ error: MessageBirdError) -> HTTPServerResponse {
    inbox.refuse("messagebird \(error.code)")
    return error.response
  }

  private static func resource(_ message: ReceivedMessage, _ order: MessageBirdOrder) -> String {
    let time = message.receivedAt.rfc3339
    return """
      {"id":"\(message.id)","href":"https://rest.messagebird.com/messages/\(message.id)","direction":"mt","type":"sms",\
      "originator":\(JSONString.quote(message.from)),"body":\(JSONString.quote(message.body)),\
      "reference":\(JSONString.quote(order.reference)),"reportUrl":\(JSONString.quote(order.reportUrl)),\
      "validity":\(order.validity.map(String.init) ?? "null"),"datacoding":"\(order.datacoding ?? "plain")",\
      "createdDatetime":"\(time)","recipients":{"totalCount":1,"totalSentCount":1,"totalDeliveredCount":0,\
      "totalDeliveryFailedCount":0,"items":[{"recipient":\(message.to.dropFirst()),"status":"sent",\
      "statusDatetime":"\(time)","messagePartCount":\(SegmentCount.of(message.body))}]}}
      """
  }
}
