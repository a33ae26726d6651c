import CommandEngine
import CountersignEncoding
import CountersignMessages
import CountersignTelemetry

/// Content of the inbox in place of an answer with secrets, which is made from it once more.
enum AnswerNote: Sendable, Hashable {
  /// Tokens, while account and session go on.
  case session(id: String, isNewUser: Bool, provider: String?)
  /// A temporary proof of a number, while it is neither used nor too old.
  case proof(seed: [UInt8])
  /// A refusal with a token that stands for the credential, likewise.
  case pending(seed: [UInt8], SignInRefusal)
  /// A pending credential, while it is neither used nor too old.
  case secondFactor(seed: [UInt8], provider: String?)
  /// The secret of a factor that is not enrolled yet, likewise.
  case sharedSecret(seed: [UInt8])
  /// A refusal whose token is spent: the error alone.
  case refused(SignInRefusal)

  private enum Kind: String {
    case session, proof, pending, secondFactor, sharedSecret, refused
  }

  init(_ session: SessionRecord, isNewUser: Bool = false, provider: String? = nil) {
    self = .session(id: session.id.text, isNewUser: isNewUser, provider: provider)
  }

  init(_ bytes: [UInt8]) throws(StoreError) {
    do throws(UnreadableFields) {
      self = try Self(fields: bytes)
    } catch {
      throw .unreadableBody
    }
  }

  var bytes: [UInt8] {
    get throws(StoreError) {
      do throws(UnreadableFields) {
        return try fields()
      } catch {
        throw .unreadableBody
      }
    }
  }
}

extension AnswerNote: FieldCoded {
  init(_ fields: inout FieldCoder, _ note: Self?) throws(UnreadableFields) {
    switch try fields.required(1, note?.kind) {
    case .session:
      self = .session(
        id: try fields.required(2, note?.session?.id), isNewUser: fields.flag(3, note?.session?.isNewUser),
        provider: fields.optional(4, note?.provider))
    case .proof: self = .proof(seed: try fields.required(5, note?.seed))
    case .pending:
      self = .pending(
        seed: try fields.required(5, note?.seed), try fields.required(6, note?.refusal))
    case .secondFactor:
      self = .secondFactor(
        seed: try fields.required(5, note?.seed), provider: fields.optional(4, note?.provider))
    case .sharedSecret: self = .sharedSecret(seed: try fields.required(5, note?.seed))
    case .refused: self = .refused(try fields.required(6, note?.refusal))
    }
  }

  private var kind: Kind {
    switch self {
    case .session: .session
    case .proof: .proof
    case .pending: .pending
    case .secondFactor: .secondFactor
    case .sharedSecret: .sharedSecret
    case .refused: .refused
    }
  }

  private var session: (id: String, isNewUser: Bool)? {
    if case .session(let id, let isNewUser, _) = self { (id, isNewUser) } else { nil }
  }

  private var provider: String? {
    switch self {
    case .session(_, _, let provider), .secondFactor(_, let provider): provider
    case .proof, .pending, .sharedSecret, .refused: nil
    }
  }

  private var seed: [UInt8]? {
    switch self {
    case .session, .refused: nil
    case .proof(let seed), .pending(let seed, _), .secondFactor(let seed, _), .sharedSecret(let seed): seed
    }
  }

  private var refusal: SignInRefusal? {
    switch self {
    case .session, .proof, .secondFactor, .sharedSecret: nil
    case .pending(_, let refusal), .refused(let refusal): refusal
    }
  }
}

/// Reason to refuse what a user has proven, which the user can do something about.
enum SignInRefusal: Sendable, Hashable {
  /// It opens another account, or the account has another identity of that provider.
  case alreadyLinked
  /// Another account has its address.
  case emailExists
  /// It opens no account, and makes none.
  case unknown
  /// The project demands a consent to linking that is not there.
  case consentRequired
  /// An account has its address, which is not believed: the ways to sign in to that one.
  case unconfirmed([String])
}

extension SignInRefusal: FieldCoded {
  private struct Way: FieldCoded {
    let name: String

    init(name: String) {
      self.name = name
    }

    init(_ fields: inout FieldCoder, _ way: Self?) throws(UnreadableFields) {
      name = try fields.required(1, way?.name)
    }
  }

  init(_ fields: inout FieldCoder, _ refusal: Self?) throws(UnreadableFields) {
    let code = fields.optional(1, refusal?.code?.rawValue)
    let ways = try fields.list(2, refusal?.ways.map(Way.init(name:)))
    switch code {
    case nil: self = .unconfirmed(ways.map(\.name))
    case APIErrorCode.identityAlreadyLinked.rawValue: self = .alreadyLinked
    case APIErrorCode.emailExists.rawValue: self = .emailExists
    case APIErrorCode.userNotFound.rawValue: self = .unknown
    case APIErrorCode.consentRequired.rawValue: self = .consentRequired
    default: throw UnreadableFields()
    }
  }

  /// `nil` where the user has to confirm.
  var code: APIErrorCode? { error?.code }

  /// `nil` likewise.
  var error: APIError? {
    switch self {
    case .alreadyLinked: .identityAlreadyLinked
    case .emailExists: .emailExists
    case .unknown: .userNotFound
    case .consentRequired: .consentRequired
    case .unconfirmed: nil
    }
  }

  var ways: [String] { if case .unconfirmed(let ways) = self { ways } else { [] } }
}
