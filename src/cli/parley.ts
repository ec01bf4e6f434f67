#!/usr/bin/env node
import { readArguments } from '../platform/process/read-command.ts'
import { type Arguments, parseArguments, USAGE, type WorkflowCommand } from './arguments.ts'
import { diffWorkflows, pullWorkflows, pushWorkflows, testWorkflows } from './commands.ts'
import { escapeControls, ProblemError } from './workflow-files.ts'

const WORKFLOW_COMMANDS = {
  pull: pullWorkflows,
  test: testWorkflows,
  push: pushWorkflows,
  diff: diffWorkflows,
} satisfies Record<WorkflowCommand, unknown>

/** Returns true if all is well. What a command needs of the server is loaded for it only. */
async function execute(parsed: Exclude<Arguments, { group: 'start' }>): Promise<boolean> {
  switch (parsed.group) {
    case 'doctor': {
      const { runDoctor } = await import('./doctor/run-doctor.ts')
      return runDoctor(parsed)
    }
    case 'after-restore': {
      const { runAfterRestore } = await import('./after-restore.ts')
      return runAfterRestore(parsed)
    }
    case 'rotate-key': {
      const { rotateKey } = await import('./rotate-key.ts')
      return rotateKey(parsed)
    }
    case 'export': {
      const { exportWorkspace } = await import('./transfer.ts')
      return exportWorkspace(parsed)
    }
    case 'workflows':
      return WORKFLOW_COMMANDS[parsed.command](parsed.api, parsed)
  }
}

const parsed = readArguments(USAGE, parseArguments)
if (parsed.group === 'start') {
  process.argv.splice(2, 1)
  await import('../main.ts')
} else {
  try {
    process.exitCode = (await execute(parsed)) ? 0 : 1
  } catch (error) {
    const { describeStartError } = await import('../describe-start-error.ts')
    const message = error instanceof ProblemError ? error.message : describeStartError(error)
    process.stderr.write(`${escapeControls(message)}\n`)
    process.exitCode = 1
  }
}
