import ServiceRuntime

/// Consumes a queue until it is stopped; taken deliveries are finished first.
struct PipelineService<Work: BatchWork>: Service {
  let name: String
  let pipeline: BatchPipeline<Work>

  func run() async {
    await pipeline.run()
  }

  func stop() async {
    await pipeline.stop()
  }
}
