// The contribution matrix: which variables to show, and its strongest ties.

const MOST_TIES = 30;

function strength(C, i) {
  let most = 0;
  for (let j = 0; j < C.length; j += 1) {
    if (j !== i) most = Math.max(most, Math.abs(C[i][j] || 0), Math.abs(C[j][i] || 0));
  }
  return most;
}

/** Indices of the variables with the largest ties to others, in column order. */
export function strongestVariables(C, most) {
  return C.map((_, i) => i).sort((a, b) => strength(C, b) - strength(C, a) || a - b)
    .slice(0, most).sort((a, b) => a - b);
}

/** [cause, effect, value] of different variables by falling strength. */
export function strongestTies(C, most = MOST_TIES) {
  const ties = [];
  C.forEach((row, i) => row.forEach((value, j) => { if (i !== j && value) ties.push([i, j, value]); }));
  return ties.sort((a, b) => Math.abs(b[2]) - Math.abs(a[2])).slice(0, most);
}

export const cut = (name, most = 22) => (name.length <= most ? name : `${name.slice(0, most - 1)}…`);
