import { RootCommand } from '@bomb.sh/tab';
import { printedBy } from './printed-by.ts';

/** Shells that can be told how to complete. */
export const shells = ['bash', 'zsh', 'fish', 'powershell'] as const;

/** The lines of the script that a shell sources; it asks the program's `complete` at each press of the key. */
export function completionScript(programName: string, shell: string): string[] {
  const lines = printedBy(() => new RootCommand().setup(programName, programName, shell));
  return shell === 'bash' ? [...readWords, ...lines.map(mendBash)] : lines;
}

/** The words so far, also where bash-completion, which splits them better, is not installed. */
const readWords = `
__agent_knowledge_words() {
    if declare -F _get_comp_words_by_ref >/dev/null; then
        _get_comp_words_by_ref -n "=:" cur prev words cword
    else
        words=("\${COMP_WORDS[@]:0:COMP_CWORD+1}")
        cur=\${COMP_WORDS[COMP_CWORD]}
    fi
}`.split('\n');

/**
 * A line of the library's script as it may stand in a shell of somebody's: it can be sourced twice, it needs no
 * bash-completion, and what was typed, such as `$(…)`, is never run.
 */
function mendBash(line: string): string {
  return line
    .replace(/^readonly (\w+)=(\d+)$/, ': "${$1:=$2}"')
    .replace('_get_comp_words_by_ref -n "=:" cur prev words cword', '__agent_knowledge_words')
    .replace('${words[@]:1}"', `$(printf '%q ' "\${words[@]:1}")"`);
}
