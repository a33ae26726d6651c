import CommandEngine
import CountersignEncoding
import CountersignMessages
import CountersignTelemetry

/// A number as a second factor, while its code is checked.
struct PhoneFactorRequest: Sendable {
  enum Asker: Sendable {
    /// A signed-in user, who enrols it.
    case user(IDTokenCheck)
    /// Holder of a pending credential, by the IDs that its ticket may have.
    case pending([RecordID])
  }

  let asker: Asker
  /// Time at which the command arrived: the user's sign-in must have been recent then.
  let arrivedAt: UnixTime
  /// Name of a new factor.
  let displayName: String?
  /// A public key, as JSON.
  let replyKey: String

  func addKeys(to keys: inout StoreKeys) throws(StoreError) {
    switch asker {
    case .user(let caller): caller.addKeys(to: &keys)
    case .pending(let ids): for id in ids { keys.add(record: id) }
    }
  }
}

extension PhoneFactorRequest: FieldCoded {
  /// A ticket, under the pepper and the one before.
  private struct TicketID: FieldCoded {
    let id: RecordID

    init(id: RecordID) {
      self.id = id
    }

    init(_ fields: inout FieldCoder, _ ticket: Self?) throws(UnreadableFields) {
      guard let id = RecordID(Ticket.kind, try fields.required(1, ticket?.id.text)) else { throw UnreadableFields() }
      self.id = id
    }
  }

  init(_ fields: inout FieldCoder, _ request: Self?) throws(UnreadableFields) {
    let token = try fields.optional(1, request?.token)
    let tickets = try fields.list(2, request?.tickets.map(TicketID.init(id:)))
    asker = token.map { .user(IDTokenCheck(token: $0)) } ?? .pending(tickets.map(\.id))
    arrivedAt = try fields.required(3, request?.arrivedAt)
    displayName = fields.optional(4, request?.displayName)
    replyKey = try fields.required(5, request?.replyKey)
  }

  private var token: VerifiedIDToken? { if case .user(let caller) = asker { caller.token } else { nil } }

  private var tickets: [RecordID] { if case .pending(let ids) = asker { ids } else { [] } }
}
