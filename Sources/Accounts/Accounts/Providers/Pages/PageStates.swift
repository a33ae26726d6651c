import CountersignCryptography
import CountersignEncoding
import CountersignMessages
import CountersignTelemetry
import Projects

/// Seals page flows into states under the token keys, and opens them.
struct PageStates: Sendable {
  private static let maxBytes = 8192
  private static let header = ["form": "countersign page flow"]

  private let ring: KeyRing

  init(ring: KeyRing) {
    self.ring = ring
  }

  /// `nil` for a flow that is too long.
  func seal(_ flow: PageFlow) -> Secret? {
    // Both errors come of a length alone: the ring was read at the start.
    guard let key = ring.sealing, let bytes = try? flow.fields(),
      let text = try? JWE.seal(bytes, with: key, header: Self.header), text.utf8.count <= Self.maxBytes
    else { return nil }
    return Secret(text)
  }

  /// `nil` for whatever keeps it closed: it was changed, or its key is gone.
  func open(_ state: String) -> PageFlow? {
    // The state comes from a browser: whatever is wrong with it, the user begins anew.
    guard state.utf8.count <= Self.maxBytes, let opened = try? JWE.open(state, with: ring),
      Self.header.allSatisfy({ opened.header[$0.key] == $0.value })
    else { return nil }
    // A flow of another version, likewise.
    return try? PageFlow(fields: opened.plaintext)
  }
}

extension PageFlow {
  /// Difference between the clocks of two hosts of accounts that is put up with.
  private static let skew = Duration.seconds(60)

  /// Checks that an answer of a page belongs to this flow.
  /// - Throws: `INVALID_IDP_RESPONSE`.
  func check(_ credential: IDPCredential, of project: Project, at now: UnixTime) throws(APIError) {
    guard self.project == project.id, credential.providerID.map({ $0.isEmpty || $0 == provider }) ?? true else {
      throw .invalidIDPResponse("the state belongs to another project or provider")
    }
    guard now < beganAt + Self.lifetime, beganAt - Self.skew <= now else {
      throw .invalidIDPResponse("the sign-in began too long ago: begin again")
    }
    let hash = Hexadecimal.encode(SHA256.hash(Array((credential.sessionID ?? "").utf8)))
    guard hash == sessionHash else {
      throw .invalidIDPResponse("the session ID is not the one that the sign-in began with")
    }
    guard credential.redirectURI == redirectURI else {
      throw .invalidIDPResponse("the provider has led back to another address than the sign-in named")
    }
  }

  /// The flow as a credential that counts once, whatever it brings.
  var spent: SpentCredential { SpentCredential(value: ["page", verifier], until: beganAt + Self.lifetime) }

  /// Mark of a flow that has had a wrong answer: no other is taken to the provider. One that is there already, and was
  /// right, counts: of the same answer sent twice at once the provider refuses one.
  var refused: SpentCredential { SpentCredential(value: ["refused page", verifier], until: spent.until) }
}
