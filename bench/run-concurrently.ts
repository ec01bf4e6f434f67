/** Runs `count` tasks, at most `concurrency` at a time. */
export async function runConcurrently(
  count: number,
  concurrency: number,
  task: (index: number) => Promise<void>,
): Promise<void> {
  let next = 0
  const runTasks = async () => {
    for (let index = next++; index < count; index = next++) await task(index)
  }
  await Promise.all(Array.from({ length: concurrency }, runTasks))
}
