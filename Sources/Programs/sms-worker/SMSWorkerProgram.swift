import SMS

@main struct SMSWorkerProgram {
  static func main() async { await SMSWorker.run() }
}
