import CountersignMessages

/// A validated `app.verify` request, with its new proof.
struct AppOrder: Sendable {
  var proof: AppProof
  var address: ClientAddress?
  /// The body of the push, its secret sealed.
  var job: [UInt8]
}
