import CommandEngine
import CountersignCryptography
import CountersignEncoding
import CountersignMessages
import CountersignTelemetry

/// An ID token of ours: its signature, issuer, audience and times are right. Whether its account and session still
/// exist is for ``IDTokenCheck``.
struct VerifiedIDToken: Sendable, Hashable {
  let project: String
  let localID: String
  let sessionID: String
  /// Whole seconds.
  let authTime: UnixTime
  /// Whole seconds.
  let issuedAt: UnixTime
}

/// Content for the record of a command that waits. It is not a token: it has no signature.
extension VerifiedIDToken: FieldCoded {
  init(_ fields: inout FieldCoder, _ token: Self?) throws(UnreadableFields) {
    project = try fields.required(1, token?.project)
    localID = try fields.required(2, token?.localID)
    sessionID = try fields.required(3, token?.sessionID)
    authTime = try fields.required(4, token?.authTime)
    issuedAt = try fields.required(5, token?.issuedAt)
  }
}

extension IDTokens {
  func verify(_ token: Secret, project: String, at now: UnixTime) throws(APIError) -> VerifiedIDToken {
    let text = token.reveal()
    guard !text.isEmpty else { throw .missingIDToken }
    // A process that lacks keys tells no user that a right token is wrong.
    guard keys.isReady else { throw .noSigningKey }
    guard text.utf8.count <= Self.maxBytes, let id = Self.keyID(of: text) else { throw .invalidIDToken }
    guard let key = keys.verifying(id, at: now) else {
      // Another process has the token key of its row, and may have signed with it.
      throw keys.isUnreadable(id) ? .noSigningKey : .invalidIDToken
    }
    let payload: [UInt8]
    do throws(JOSEError) {
      payload = try JWS.verify(text, with: key).payload
    } catch {
      throw .invalidIDToken
    }
    // The decoder's error would quote the token.
    guard let claims = try? JSONReader(maxBytes: Self.maxBytes).decode(Claims.self, from: payload) else {
      throw .invalidIDToken
    }
    return try Self.check(claims, project: project, at: now)
  }

  /// Every token of ours has them.
  private struct Claims: Decodable {
    var iss: String
    var aud: String
    var sub: String
    var sid: String
    var iat: Int64
    var exp: Int64
    var authTime: Int64

    enum CodingKeys: String, CodingKey {
      case iss, aud, sub, sid, iat, exp
      case authTime = "auth_time"
    }
  }

  private static func check(
    _ claims: Claims, project: String, at now: UnixTime
  ) throws(APIError) -> VerifiedIDToken {
    guard claims.iss == issuer(of: project), claims.aud == project, (1...maxSubject).contains(claims.sub.utf8.count),
      let account = AccountRecord.id(of: claims.sub, project: project),
      account == SessionRecord.account(ofSession: claims.sid)
    else { throw .invalidIDToken }
    let issuedAt = UnixTime(seconds: claims.iat)
    guard issuedAt <= now + maxSkew, claims.authTime <= claims.iat else { throw .invalidIDToken }
    guard UnixTime(seconds: claims.exp) > now else { throw .idTokenExpired }
    return VerifiedIDToken(
      project: project, localID: claims.sub, sessionID: claims.sid, authTime: UnixTime(seconds: claims.authTime),
      issuedAt: issuedAt)
  }

  /// Verifiers require a `kid`, so a token without one is none of ours.
  private static func keyID(of text: String) -> String? {
    struct Header: Decodable {
      var kid: String
    }
    guard let part = text.split(separator: ".", maxSplits: 1, omittingEmptySubsequences: false).first,
      part.utf8.count <= JWS.maxHeaderBytes, let json = Base64URL.decode(String(part))
    else { return nil }
    // A header that cannot be read names no key; the decoder's error would quote it.
    return try? JSONReader(maxBytes: JWS.maxHeaderBytes).decode(Header.self, from: json).kid
  }
}

struct IDTokenCheck: Sendable {
  let token: VerifiedIDToken

  struct Holder: Sendable, Hashable {
    var account: AccountRecord
    var session: SessionRecord
  }

  /// The account that its session is of: user IDs may be written in several ways that look alike.
  var account: RecordID? { SessionRecord.account(ofSession: token.sessionID) }

  func addKeys(to keys: inout StoreKeys) { SessionRecord.addKeys(of: token.sessionID, to: &keys) }

  func holder(in set: WorkingSet, _ rules: SessionRules) throws(StoreError) -> Result<Holder, APIError> {
    switch try SessionRecord.holder(of: token.sessionID, project: token.project, rules, in: set) {
    case .success(let holder):
      return token.issuedAt.seconds >= holder.account.validSince.seconds ? .success(holder) : .failure(.idTokenExpired)
    case .failure(.sessionEnded): return .failure(.idTokenExpired)
    case .failure(let error): return .failure(error)
    }
  }
}
