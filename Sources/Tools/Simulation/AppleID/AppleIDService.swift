import CountersignEncoding
import CountersignTelemetry
import HTTPServer

/// `POST /auth/token` and `POST /auth/revoke`: Sign in with Apple
/// (https://developer.apple.com/documentation/signinwithapplerestapi).
struct AppleIDService: Sendable {
  private static let accessTokenSeconds = 3_600

  private let secretCheck: ClientSecretCheck
  private let grants: GrantStore
  private let revocations: Journal<SimulatedRevocation>
  private let gate: ProviderGate

  init(
    _ settings: AppleIDSettings, grants: GrantStore, revocations: Journal<SimulatedRevocation>, gate: ProviderGate
  ) throws(SimulationError) {
    secretCheck = try ClientSecretCheck(settings)
    self.grants = grants
    self.revocations = revocations
    self.gate = gate
  }

  /// The last part of the path names the request.
  func reply(_ request: HTTPServerRequest, _ parts: [Substring]) async -> HTTPServerReply {
    switch parts {
    case ["auth", "token"]: await token(request)
    case ["auth", "revoke"]: await revoke(request)
    default: .respond(AppleIDError.status(404))
    }
  }

  private func token(_ request: HTTPServerRequest) async -> HTTPServerReply {
    do throws(AppleIDError) {
      let form = try form(request)
      let clientID = try secretCheck.client(form, now: gate.clock.now())
      return await gate.answer(.appleToken, to: clientID, failure: AppleIDError.status) {
        do throws(AppleIDError) { return answer(try tokens(form, clientID)) } catch { return error.response }
      }
    } catch {
      return gate.count(error.response, .appleToken)
    }
  }

  private func tokens(_ form: Form, _ clientID: String) throws(AppleIDError) -> GrantStore.Tokens {
    switch form["grant_type"] {
    case "authorization_code":
      guard let code = form["code"] else { throw .invalidRequest("code is required") }
      return try grants.exchange(
        code: code, clientID: clientID, redirectURI: form["redirect_uri"], now: gate.clock.now())
    case "refresh_token":
      guard let token = form["refresh_token"] else { throw .invalidRequest("refresh_token is required") }
      return try grants.refresh(token: token, clientID: clientID)
    case nil: throw .invalidRequest("grant_type is required")
    default: throw .unsupportedGrantType
    }
  }

  private func answer(_ tokens: GrantStore.Tokens) -> HTTPServerResponse {
    let refresh = tokens.refresh.map { ",\"refresh_token\":\(JSONString.quote($0))" } ?? ""
    return .json(
      status: 200,
      """
      {"access_token":\(JSONString.quote(tokens.access)),"token_type":"Bearer",\
      "expires_in":\(Self.accessTokenSeconds)\(refresh)}
      """)
  }

  private func revoke(_ request: HTTPServerRequest) async -> HTTPServerReply {
    do throws(AppleIDError) {
      let form = try form(request)
      let clientID = try secretCheck.client(form, now: gate.clock.now())
      guard let token = form["token"] else { throw .invalidRequest("token is required") }
      return await gate.answer(.appleRevoke, to: clientID, failure: AppleIDError.status) {
        record(token, form["token_type_hint"], clientID)
      }
    } catch {
      return gate.count(error.response, .appleRevoke)
    }
  }

  /// Every token is answered with 200 and no body, even one that was never issued.
  private func record(_ token: String, _ hint: String?, _ clientID: String) -> HTTPServerResponse {
    let code = grants.revoke(token: token, clientID: clientID)
    revocations.append(
      SimulatedRevocation(
        clientID: clientID, token: token, tokenTypeHint: hint, code: code, receivedAt: gate.clock.now()),
      key: token)
    return HTTPServerResponse(status: 200)
  }

  private func form(_ request: HTTPServerRequest) throws(AppleIDError) -> Form {
    guard request.method == "POST", request.mediaType == Form.mediaType else {
      throw .invalidRequest("POST with a form is expected")
    }
    let form = Form(request.body)
    guard !form.hasRepeatedField else { throw .invalidRequest("a parameter comes twice") }
    return form
  }
}
