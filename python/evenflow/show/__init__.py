"""What people see: figures, terminal screens, reports and exported files."""
