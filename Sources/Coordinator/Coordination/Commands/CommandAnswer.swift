import CountersignMessages

/// Answer to a command.
struct CommandAnswer: Sendable, Hashable {
  var type: MessageType
  var body: [UInt8]
  /// The code of the error; absent when the command succeeded.
  var error: APIErrorCode?
  /// Label for the metrics, when the code is not specific enough.
  var label: String?
  /// Whether the same command may succeed later. Its side effects remain all the same: anything it counted or ended
  /// stays so when it is carried out again.
  var isTransient = false
}

extension CommandAnswer {
  /// Code in the metrics.
  var metricCode: String { label ?? error?.rawValue ?? "OK" }
}

extension CommandAnswer {
  init(_ body: some MessageBody) throws(ContractProblem) {
    self.init(type: Swift.type(of: body).type, body: try body.json(), error: nil)
  }

  init(_ started: VerificationStarted) {
    self.init(type: VerificationStarted.type, body: started.fastJSON, error: nil)
  }

  init(_ approved: VerificationApproved) {
    self.init(type: VerificationApproved.type, body: approved.fastJSON, error: nil)
  }

  /// A recorded answer, counted under its original code.
  init(type: MessageType, again body: [UInt8]) {
    var code: APIErrorCode?
    if type == ErrorReply.type {
      do throws(ContractProblem) {
        code = try ErrorReply(json: body).error.code
      } catch {
        // Written by another version; the requester gets it unchanged.
        code = .internalError
      }
    }
    self.init(type: type, body: body, error: code)
  }

  /// An error is always answered, so this cannot fail: its texts are ours and short.
  init(_ error: APIError) {
    let body: [UInt8]
    do throws(ContractProblem) {
      body = try ErrorReply(error).json()
    } catch {
      body = Array(#"{"error":{"code":"INTERNAL_ERROR","message":"the error could not be written"}}"#.utf8)
    }
    // Distinguished from faults of the coordinator, which have to wake an operator.
    let label = error.reason == APIError.tooOld ? APIError.tooOld : nil
    self.init(type: ErrorReply.type, body: body, error: error.code, label: label, isTransient: error.retryAfter != nil)
  }
}
