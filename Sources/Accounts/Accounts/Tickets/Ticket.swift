import CommandEngine
import CountersignCryptography
import CountersignEncoding
import CountersignMessages
import CountersignTelemetry

/// A text that a client holds between two steps. It counts once, for an hour.
///
/// The client's text is not stored: it follows, under the pepper, from a random seed, and the record's ID from the text.
struct Ticket {
  /// Meaning of the text.
  enum Purpose: String {
    /// A number that another account has: its holder has just given back the number's code.
    case phoneProof
    /// A credential of a provider that counts once, and was presented.
    case pendingCredential
    /// Rights of a service account.
    case accessToken
    /// The link of a mail.
    case mailLink
    /// A first factor of an account that asks for a second one.
    case secondFactor
    /// Secret of a TOTP factor that is not enrolled yet.
    case sharedSecret
  }

  static let kind = RecordKind("ticket")
  static let lifetime = Duration.seconds(3600)
  /// Time after its end for which one whose end is looked at waits for a process that does.
  static let outage = Duration.seconds(7 * 86_400)

  let id: RecordID
  let purpose: Purpose
  let project: String
  /// That app alone may use it. `nil` for any of the project.
  let app: String?
  let expiresAt: UnixTime
  /// Its content.
  fileprivate let sealed: String
  /// Wrong codes that were given with it.
  private(set) var wrongCodes = 0
}

struct NewTicket<Content: FieldCoded> {
  let text: TicketText
  let purpose: Ticket.Purpose
  let content: Content
  let project: String
  var app: String?
  /// Time for which it counts.
  var lifetime = Ticket.lifetime
  /// Time after that for which it is known, so that its holder is told that it is too old.
  var afterlife = Duration.zero
  /// Whether its end is looked at, if no one has used it by then.
  var isDue = false
}

extension Ticket {
  /// So many wrong codes end one that goes with a code.
  static let mostWrongCodes = 5

  /// Notes a wrong code: the last one ends it.
  ///
  /// - Returns: how many more it bears.
  func countWrongCode(in set: inout WorkingSet) throws(StoreError) -> Int {
    var ticket = self
    ticket.wrongCodes += 1
    if ticket.wrongCodes >= Self.mostWrongCodes {
      try set.remove(id)
    } else {
      try set.store(id, ticket, dueAt: nil, discardAt: expiresAt)
    }
    return Self.mostWrongCodes - ticket.wrongCodes
  }
}

extension Ticket: StoredRecord {
  init(_ record: Record, _ fields: inout FieldCoder, _ ticket: Self?) throws(UnreadableFields) {
    id = record.id
    purpose = try fields.required(1, ticket?.purpose)
    project = try fields.required(2, ticket?.project)
    app = fields.optional(3, ticket?.app)
    expiresAt = try fields.required(4, ticket?.expiresAt)
    sealed = try fields.required(5, ticket?.sealed)
    let wrongCodes: Int? = ticket.flatMap { $0.wrongCodes == 0 ? nil : $0.wrongCodes }
    self.wrongCodes = fields.optional(6, wrongCodes) ?? 0
  }
}

/// A ticket with its content.
struct OpenTicket<Content: FieldCoded> {
  let ticket: Ticket
  let content: Content
}

/// Text of a ticket, as its holder gets it, with the seed that makes it once more.
struct TicketText: Sendable {
  /// Bytes of a seed: too many to guess.
  static let seedLength = 16

  let seed: [UInt8]
  let secret: Secret
  let id: RecordID
}

/// Makes and finds tickets.
struct Tickets: Sendable {
  private static let maxBytes = 128
  private static let form = "countersign ticket"

  private let hashes: AccountHashes
  private let ring: KeyRing

  init(_ hashes: AccountHashes, ring: KeyRing) {
    self.hashes = hashes
    self.ring = ring
  }

  // MARK: Texts

  func text(seed: [UInt8]) throws(StoreError) -> TicketText {
    guard let text = Self.text(seed: seed, hashes) else { throw StoreError.unreadableBody }
    return text
  }

  /// Texts that a seed may have led to: under the pepper, and the one before.
  func texts(seed: [UInt8]) -> [TicketText] {
    ([hashes] + hashes.former).compactMap { Self.text(seed: seed, $0) }
  }

  private static func text(seed: [UInt8], _ hashes: AccountHashes) -> TicketText? {
    guard seed.count == TicketText.seedLength else { return nil }
    let text = Base64URL.encode(hashes.hash("ticket", [Hexadecimal.encode(seed)]))
    return id(of: text, hashes).map { TicketText(seed: seed, secret: Secret(text), id: $0) }
  }

  private static func id(of text: String, _ hashes: AccountHashes) -> RecordID? {
    guard text.utf8.count <= maxBytes else { return nil }
    return RecordID(Ticket.kind, hashes.id("ticket ID", [text]))
  }

  func ids(of text: Secret) -> [RecordID] {
    ([hashes] + hashes.former).compactMap { Self.id(of: text.reveal(), $0) }
  }

  // MARK: Tickets

  /// - Parameter seals: sealed contents of the runs of a command.
  @discardableResult
  func issue(
    _ new: NewTicket<some FieldCoded>, seals: Once<RecordID, String>, in set: inout WorkingSet
  ) throws(StoreError) -> Ticket {
    let id = new.text.id
    let sealed = try seals.value(of: id) { () throws(StoreError) in try seal(new.content, id, new.purpose) }
    let ticket = Ticket(
      id: id, purpose: new.purpose, project: new.project, app: new.app, expiresAt: set.now + new.lifetime,
      sealed: sealed)
    try set.store(
      id, ticket, isNew: true, dueAt: new.isDue ? ticket.expiresAt : nil,
      discardAt: ticket.expiresAt + (new.isDue ? max(new.afterlife, Ticket.outage) : new.afterlife))
    return ticket
  }

  private func seal(
    _ content: some FieldCoded, _ id: RecordID, _ purpose: Ticket.Purpose
  ) throws(StoreError) -> String {
    // The errors of both say no more: contents are bounded, and the ring was read at the start.
    guard let key = ring.sealing, let bytes = try? content.fields(),
      let sealed = try? JWE.seal(bytes, with: key, header: Self.header(id, purpose))
    else { throw StoreError(.content, "the content of a ticket cannot be sealed") }
    return sealed
  }

  private static func header(_ id: RecordID, _ purpose: Ticket.Purpose) -> [String: String] {
    ["form": form, "ticket": id.text, "purpose": purpose.rawValue]
  }

  /// `nil` for one that is wrong, used, too old, of another purpose or project, or sealed under a key that is gone.
  /// - Parameter evenExpired: whether one that is too old is found, too.
  func find<Content: FieldCoded>(
    _ ids: [RecordID], _ purpose: Ticket.Purpose, project: String, evenExpired: Bool = false, in set: WorkingSet
  ) throws(StoreError) -> OpenTicket<Content>? {
    for record in try set.each(ids, { id throws(StoreError) in try set.record(id) }) {
      guard let record else { continue }
      let ticket = try Ticket(record)
      guard evenExpired || set.now < ticket.expiresAt, ticket.purpose == purpose, ticket.project == project,
        let content: Content = open(ticket)
      else { continue }
      return OpenTicket(ticket: ticket, content: content)
    }
    return nil
  }

  /// Content of a ticket whose end is looked at. `nil` for one that cannot be opened, too.
  func content<Content: FieldCoded>(
    of record: Record, _ purpose: Ticket.Purpose
  ) throws(StoreError) -> OpenTicket<Content>? {
    let ticket = try Ticket(record)
    guard ticket.purpose == purpose, let content: Content = open(ticket) else { return nil }
    return OpenTicket(ticket: ticket, content: content)
  }

  /// `nil` for whatever keeps it closed: a key that is gone, a record that was changed, a content of another version. Its
  /// holder gets the same refusal for each, and can begin anew.
  private func open<Content: FieldCoded>(_ ticket: Ticket) -> Content? {
    guard let opened = try? JWE.open(ticket.sealed, with: ring),
      Self.header(ticket.id, ticket.purpose).allSatisfy({ opened.header[$0.key] == $0.value })
    else { return nil }
    return try? Content(fields: opened.plaintext)
  }
}
