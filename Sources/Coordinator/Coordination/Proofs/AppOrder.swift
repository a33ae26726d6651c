import CountersignMessages

/// A request for a receipt that the configuration has nothing against, with the proof ready to be begun.
struct AppOrder: Sendable {
  var proof: AppProof
  var address: ClientAddress?
  /// The body of the push, its secret sealed.
  var job: [UInt8]
}
