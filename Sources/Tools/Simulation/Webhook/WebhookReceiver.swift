import CountersignEncoding
import CountersignTelemetry
import HTTPServer

/// `POST /webhook/sms`: a receiver as an operator of an SMS gateway would write it.
struct WebhookReceiver: Sendable {
  /// Maximum length of a text, in UTF-16 code units.
  private static let maxTextLength = 1_600

  private struct Payload: Decodable {
    struct Message: Decodable {
      let to: String
      let text: String
      let from: String?
    }
    let type: String
    let data: Message
  }

  let verifier: WebhookVerifier
  let inbox: ProviderInbox

  func reply(_ request: HTTPServerRequest) async -> HTTPServerReply {
    do throws(WebhookError) {
      let now = inbox.clock.now()
      guard request.method == "POST" else {
        throw WebhookError(status: 405, code: "METHOD_NOT_ALLOWED", message: "only POST is allowed here")
      }
      let id = try verifier.verify(request, now: now)
      let message = try read(request, id: id, now: now)
      return await inbox.answer(.webhook, to: message.to) {
        WebhookError(status: $0, code: "INJECTED", message: "a fault was ordered").response
      } process: {
        take(message)
      }
    } catch {
      inbox.refuse(error.code)
      return inbox.count(error.response, .webhook)
    }
  }

  private func read(_ request: HTTPServerRequest, id: String, now: UnixTime) throws(WebhookError) -> ReceivedMessage {
    guard request.mediaType == "application/json" else {
      throw WebhookError(status: 415, code: "UNSUPPORTED_MEDIA_TYPE", message: "the body must be application/json")
    }
    let payload: Payload
    do { payload = try JSONReader.requests.decode(Payload.self, from: request.body) } catch {
      throw .invalid("the body must be JSON with type, data.to and data.text")
    }
    guard payload.type == "sms.dispatch" else { throw .invalid("the type must be sms.dispatch") }
    return ReceivedMessage(
      to: payload.data.to, from: payload.data.from, body: payload.data.text, receivedAt: now, provider: .webhook, id: id
    )
  }

  private func take(_ message: ReceivedMessage) -> HTTPServerResponse {
    do throws(WebhookError) {
      guard (1...Self.maxTextLength).contains(message.body.utf16.count) else {
        throw .invalid("data.text must have 1 to \(Self.maxTextLength) characters")
      }
      if let refusal = Recipients.refusal(message.to) {
        throw WebhookError(status: 422, code: String(refusal.code), message: refusal.message)
      }
      guard inbox.record(message) != .conflicting else {
        throw WebhookError(status: 409, code: "CONFLICT", message: "this webhook-id came with another message before")
      }
      return .json(status: 202, "{\"reference\":\(JSONString.quote("WH" + message.id))}")
    } catch {
      inbox.refuse(error.code)
      return error.response
    }
  }
}

/// Reason to refuse a webhook.
struct WebhookError: Error, Sendable {
  let status: Int
  let code: String
  let message: String

  static func unauthorized(_ message: String) -> WebhookError {
    WebhookError(status: 401, code: "UNAUTHORIZED", message: message)
  }

  static func invalid(_ message: String) -> WebhookError {
    WebhookError(status: 400, code: "INVALID", message: message)
  }

  var response: HTTPServerResponse {
    .json(
      status: status,
      "{\"error\":{\"code\":\(JSONString.quote(code)),\"message\":\(JSONString.quote(message))}}")
  }
}
