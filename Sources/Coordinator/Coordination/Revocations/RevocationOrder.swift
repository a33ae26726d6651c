import CountersignMessages

/// A validated `revocation.start` request.
struct RevocationOrder: Sendable {
  var app: AppProfile
  var revocation: Revocation
  var token: TokenHash
  /// The body of the revocation worker's job, its token sealed.
  var job: [UInt8]
}
