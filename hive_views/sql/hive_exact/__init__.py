"""What only the exact emulation of Hive needs: refusals, planner names, operand types, grammar."""
