import CountersignMessages
import CrashMarks

extension ContractProblem.Code {
  /// The process ended whenever it worked on the message.
  static let crashed = ContractProblem.Code(CrashMarks.reason)
}

extension ContractProblem {
  /// A message that is given up unread, because it ends the process.
  static let crashed = ContractProblem(
    .crashed, "the process ended again and again while it worked on this message")
}
