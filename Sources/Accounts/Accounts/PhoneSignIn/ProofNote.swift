import CommandEngine
import CountersignMessages
import CountersignTelemetry

/// Content of the inbox in place of an answer with a temporary proof: its seed. The same proof is made from it once
/// more, while it is neither used nor too old. ``SignedInNote`` is the note of an answer with tokens.
struct ProofNote: Sendable, Hashable {
  private static let mark = UInt8(ascii: "p")

  let seed: [UInt8]

  init(_ text: TemporaryProof.Text) {
    seed = text.seed
  }

  var bytes: [UInt8] { [Self.mark] + seed }

  init?(_ bytes: [UInt8]) {
    guard bytes.first == Self.mark else { return nil }
    seed = Array(bytes.dropFirst())
  }
}
