pragma circom 2.1.0;

// Knowledge of a root of x^3 + x + 5 = value, bound to a holder alone.
// Public signals in the order of snarkjs: value, holder.
template Member() {
    signal input x;
    signal input holder;
    signal output value;

    signal squared <== x * x;
    signal cubed <== squared * x;
    value <== cubed + x + 5;
    signal holderSquared <== holder * holder;
}

component main {public [holder]} = Member();
