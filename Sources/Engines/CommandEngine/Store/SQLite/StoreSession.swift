import SQLite
import Synchronization

/// A body's access to the database, with the errors of a store.
struct StoreSession {
  let session: Session
  /// Receives the reason of a failure, which must pass through the database to undo the body.
  let failure: StoreFailure

  @discardableResult
  func execute(_ sql: String, _ values: [Value] = []) throws(StoreError) -> Int {
    do throws(DatabaseError) { return try session.execute(sql, values) } catch { throw failure.note(error) }
  }

  func query<T>(_ sql: String, _ values: [Value], _ read: (Row) -> T) throws(StoreError) -> [T] {
    do throws(DatabaseError) {
      return try session.query(sql, values) { row throws(DatabaseError) in read(row) }
    } catch {
      throw failure.note(error)
    }
  }

  func first<T>(_ sql: String, _ values: [Value], _ read: (Row) -> T) throws(StoreError) -> T? {
    do throws(DatabaseError) {
      return try session.first(sql, values) { row throws(DatabaseError) in read(row) }
    } catch {
      throw failure.note(error)
    }
  }
}

/// Reason that a body failed: a mistake of a flow, a failure of the database, or competition.
final class StoreFailure: Sendable {
  private struct State {
    var error: StoreError?
    var conflict: StoreConflict?
    var database: DatabaseError?
  }

  private let state = Mutex(State())

  /// Competition that ended the body, if that is the reason.
  var conflict: StoreConflict? { state.withLock { $0.conflict } }

  func note(_ error: DatabaseError) -> StoreError {
    state.withLock { $0.database = error }
    return StoreError(error)
  }

  /// Ends the body because of competition.
  func end(_ conflict: StoreConflict) -> StoreError {
    state.withLock { $0.conflict = conflict }
    return StoreError(.busy, conflict.description)
  }

  /// Error that undoes the body in its group of bodies. A failure of the database keeps its code, because it may
  /// concern the whole group.
  func undo(_ error: StoreError) -> DatabaseError {
    state.withLock { state in
      state.error = error
      return state.database ?? DatabaseError(.content, "a body was undone")
    }
  }

  /// Error for the caller.
  func error(_ error: DatabaseError) -> StoreError {
    state.withLock { $0.error } ?? StoreError(error)
  }
}

extension StoreError {
  init(_ error: DatabaseError) {
    self.init(Self.code(of: error.code), error.message)
  }

  private static func code(of code: DatabaseError.Code) -> Code {
    switch code {
    case .content, .constraint, .uniqueConstraint: .content
    case .tooBig: .tooLarge
    case .misuse: .misuse
    case .sql: .statement
    case .busy, .rolledBack: .busy
    case .overloaded: .overloaded
    case .diskFull, .outOfMemory: .full
    case .corrupt, .notADatabase: .damaged
    case .readOnly, .notPermitted: .readOnly
    case .closed: .closed
    case .io: .io
    default: .unavailable
    }
  }
}
