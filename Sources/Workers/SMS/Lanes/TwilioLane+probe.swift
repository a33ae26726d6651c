import CountersignEncoding
import CountersignTelemetry
import FoundationEssentials
import HTTPClient
import JobEngine

extension TwilioLane {
  /// Reads the account: as long as Twilio refuses the credentials, or the account is not active, no job need be the trial.
  ///
  /// That it can be read says nothing of the sender, which may be what the lane is down for. So the next job decides then.
  func probe() async -> ProbeResult {
    let response: HTTPResponse
    do {
      response = try await http.send(accountRequest)
    } catch {
      return .down(Reason("NOT_CONNECTED", "The provider could not be reached: \(error)"))
    }
    switch response.status {
    case 200: return Self.isInactive(response.body) ? .down(Self.inactive) : .cannotTell
    case 401: return .down(Self.refused)
    // Standard API keys may not read the account (403), and a stand-in for Twilio may have none (404).
    default: return .cannotTell
    }
  }

  private var accountRequest: HTTPRequest {
    LaneRequest.probe(configuration.accountURL, authorization: authorization.reveal())
  }

  private struct Account: Decodable { let status: String? }

  private static func isInactive(_ body: [UInt8]) -> Bool {
    do {
      let status = try JSONReader.answers.decode(Account.self, from: body).status
      return status == "suspended" || status == "closed"
    } catch {
      // Not Twilio's own answer: nothing is known.
      return false
    }
  }

  private static let refused = Reason(
    "PROVIDER_CREDENTIALS", "Twilio refuses the credentials: check accountSID, username and passwordFile.",
    providerCode: "HTTP 401")
  private static let inactive = Reason("PROVIDER_ACCOUNT", "The Twilio account is suspended or closed.")
}
