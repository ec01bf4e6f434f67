import { findMismatchTask, jsonSchemaErrorTask } from './platform/json-schema.ts'
import { createTaskHandler } from './platform/compute/compute-task.ts'

/** The entry of the compute threads: every task that they execute. */
export default createTaskHandler([jsonSchemaErrorTask, findMismatchTask])
