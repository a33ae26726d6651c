import CountersignMessages

/// Components shared by the handlers of proofs and revocations.
struct OperationKit: Sendable {
  let keeper: ProofKeeper
  let proofJobs: ProofJobMaker
  let revocationJobs: RevocationJobMaker
  let receipts: AppHandler
  let revocations: RevocationHandler

  init(_ rules: CoordinatorRules, keeper: ProofKeeper, sealer: Sealer) {
    self.keeper = keeper
    proofJobs = ProofJobMaker(sealer: sealer)
    revocationJobs = RevocationJobMaker(sealer: sealer)
    receipts = AppHandler(rules, keeper: keeper)
    revocations = RevocationHandler(rules, jobs: revocationJobs, subjects: keeper.subjects)
  }
}
