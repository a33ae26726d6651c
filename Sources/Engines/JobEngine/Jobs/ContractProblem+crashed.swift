import CountersignMessages
import CrashMarks

extension ContractProblem.Code {
  static let crashed = ContractProblem.Code(CrashMarks.reason)
}

extension ContractProblem {
  static let crashed = ContractProblem(
    .crashed, "the process ended again and again while it worked on this message")
}
